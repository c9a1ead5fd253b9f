import type { RunVersion } from "./codec/columns.ts";
import { charsOf, encodeSegment, encodeSegments } from "./codec/encode.ts";
import { compareTexts } from "./codec/uuids.ts";
import {
  firstStep,
  groupOfSmallBodies,
  hasDeadBytes,
  isWasteful,
  type SizedSegment,
  sum,
} from "./compaction.ts";
import type { RunSegment } from "./segment.ts";
import { SEGMENTS, SegmentTable } from "./segment-table.ts";
import { GENERATION, type SegmentStore } from "./store.ts";

/**
 * A batch below both sizes is written to the table of small segments. A segment is sparse when its live runs are below
 * both.
 */
const SMALL_RUNS = 64;
const SMALL_CHARS = 128 * 1024;
/** The table of small segments is merged at this number of segments or of live runs. */
const MAX_SMALL_SEGMENTS = 64;
const MAX_SMALL_TABLE_RUNS = 2000;
/** Number of sparse segments at which they are merged. */
const MIN_SPARSE_SEGMENTS = 32;
/** Number of written segments after which sparse ones are counted again. */
const SPARSE_CHECK_SEGMENTS = 32;

/**
 * Writes segments, inside the caller's transaction. After a failed one the caller resets the store,
 * and everything is read again.
 */
export class SegmentWriter {
  readonly #storage: DurableObjectStorage;
  readonly #table: SegmentTable;
  readonly #store: SegmentStore;
  readonly #onChange: () => void;

  /** @param onChange runs in the transaction of each change */
  constructor(storage: DurableObjectStorage, store: SegmentStore, onChange: () => void) {
    this.#storage = storage;
    this.#table = new SegmentTable(storage.sql);
    this.#store = store;
    this.#onChange = onChange;
  }

  /** Writes whole versions of runs, which become the live ones, with the counts of the partition. */
  write(runs: RunVersion[], counts: string): void {
    this.#onChange();
    const isSmall = runs.length < SMALL_RUNS && sum(runs.map(charsOf)) < SMALL_CHARS;
    const before = this.#sparseChecks;
    this.#insert(isSmall ? this.#store.smallTable : SEGMENTS, runs, counts);
    this.#mergeSmallTableIfLarge(counts);
    if (this.#sparseChecks > before) this.#mergeSparse(counts);
  }

  /** Removes all versions of runs, so that the tables have none of their data. The alarm deletes copies in R2. */
  remove(ids: ReadonlySet<string>): void {
    if (ids.size > 0) this.#onChange();
    for (const segment of this.#store.loaded.withVersions(ids)) {
      const { table, number } = segment;
      const kept = this.#store.liveRuns(segment).filter(({ id }) => !ids.has(id));
      if (kept.length === 0) this.#delete(segment);
      else {
        this.#store.cold.forget(number);
        this.#table.replace(table, number, encodeSegment(kept));
      }
    }
    this.#store.reset();
  }

  removeAll(): void {
    this.#onChange();
    this.#store.cold.forgetAll();
    for (const table of [SEGMENTS, this.#store.smallTable]) this.#table.deleteAll(table);
    this.#store.reset();
  }

  /**
   * Merges the table of small segments when its bodies have `min_bytes`, else a group of other segments with small bodies.
   * No run changes.
   *
   * @param until highest number of a segment of the group. Merged segments get higher numbers, so a repeated call does
   * not merge them again
   * @returns whether it merged any
   */
  mergeSmallBodies(until: number, min_bytes: number, counts: string): boolean {
    const sizes = [...this.#table.bodyBytes(this.#store.smallTable).values()];
    if (sum(sizes) >= min_bytes) {
      this.#mergeSmallTable(counts);
      return true;
    }
    const group = this.#nextGroup(until);
    if (group.length > 0) this.#merge(group, counts);
    return group.length > 0;
  }

  /**
   * Rewrites the live runs of some segments that have many dead versions. No run changes. Segments
   * with a copy of their body in R2 stay unless all runs are dead: dead bytes in R2 cost less than the requests that
   * rewrite them.
   *
   * @returns whether it rewrote any
   */
  compact(counts: string): boolean {
    const { loaded, smallTable, cold } = this.#store;
    const small = loaded.of(smallTable);
    if (isWasteful(small) && hasDeadBytes(this.#sized(smallTable, small))) {
      this.#mergeSmallTable(counts);
      return true;
    }
    const dead = loaded.of(SEGMENTS).filter((one) => isWasteful([one]));
    const { numbersWithObject } = cold;
    const wasteful = dead.filter(
      ({ live, number }) => live === 0 || !numbersWithObject.has(number),
    );
    if (wasteful.length === 0 || !hasDeadBytes(this.#sized(SEGMENTS, wasteful))) return false;
    this.#merge(firstStep(wasteful), counts);
    return true;
  }

  /** Returns a group of segments to merge: adjacent ones with small bodies, and without a copy in R2. */
  #nextGroup(until: number): RunSegment[] {
    const { numbersWithObject } = this.#store.cold;
    const isHot = ({ table, number }: RunSegment) =>
      table === SEGMENTS && number <= until && !numbersWithObject.has(number);
    const sizes = this.#table.bodyBytes(SEGMENTS);
    return groupOfSmallBodies(sized(this.#store.all.filter(isHot), sizes));
  }

  #sized(table: string, segments: RunSegment[]): SizedSegment[] {
    return sized(segments, this.#table.rowBytes(table));
  }

  /** Grows by one when a check for sparse segments is due. */
  get #sparseChecks(): number {
    return Math.floor(this.#store.loaded.lastNumber / SPARSE_CHECK_SEGMENTS);
  }

  #mergeSmallTableIfLarge(counts: string): void {
    const small = this.#store.loaded.of(this.#store.smallTable);
    const live = sum(small.map((segment) => segment.live));
    if (small.length >= MAX_SMALL_SEGMENTS || live >= MAX_SMALL_TABLE_RUNS)
      this.#mergeSmallTable(counts);
  }

  /**
   * Moves the live runs of the small segments to `SEGMENTS`. Drops their table: deleted rows would count as written
   * ones.
   */
  #mergeSmallTable(counts: string): void {
    const dropped = this.#store.smallTable;
    const small = this.#store.loaded.of(dropped);
    const runs = small.flatMap((segment) => this.#store.liveRuns(segment));
    // The generation is in the name of `smallTable`.
    this.#storage.kv.put(GENERATION, this.#store.generation + 1);
    this.#table.create(this.#store.smallTable);
    this.#insert(SEGMENTS, runs, counts);
    this.#store.loaded.removeEmpty(dropped);
    this.#table.drop(dropped);
  }

  /** Merges segments with few live runs and small live payloads. */
  #mergeSparse(counts: string): void {
    const sparse = this.#store.loaded.of(SEGMENTS).filter(isSparse);
    // Also without a merge, segments that have no live run are deleted.
    this.#merge(sparse.length >= MIN_SPARSE_SEGMENTS ? sparse : [], counts);
  }

  /** Merges segments, and deletes all that have no live run. */
  #merge(segments: RunSegment[], counts: string): void {
    const runs = segments.flatMap((segment) => this.#store.liveRuns(segment));
    this.#insert(SEGMENTS, runs, counts);
    for (const segment of this.#store.loaded.removeEmpty(SEGMENTS)) this.#delete(segment);
  }

  #delete({ table, number }: RunSegment): void {
    this.#store.cold.forget(number);
    this.#table.delete(table, number);
  }

  /** Sorts runs as scans and lists read them, so that one frame after the other is unpacked. */
  #insert(table: string, runs: RunVersion[], counts: string): void {
    runs.sort((a, b) => a.start_us - b.start_us || compareTexts(a.id, b.id));
    const segments = this.#store.loaded;
    for (const encoded of encodeSegments(runs)) {
      const { number } = segments.add(table, encoded);
      this.#table.insert(table, number, encoded, counts);
    }
  }
}

function sized(segments: RunSegment[], sizes: Map<number, number>): SizedSegment[] {
  return segments.map((segment) => ({ segment, bytes: sizes.get(segment.number) ?? 0 }));
}

function isSparse({ live, info }: RunSegment): boolean {
  return live < SMALL_RUNS && (info.payload_bytes * live) / info.runs < SMALL_CHARS;
}
