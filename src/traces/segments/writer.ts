import type { RunVersion } from "./codec/columns.ts";
import { charsOf, encodeSegment, encodeSegments } from "./codec/encode.ts";
import { compareTexts } from "./codec/uuids.ts";
import {
  firstStep,
  hasDeadBytes,
  isWasteful,
  type SizedSegment,
  smallerGroup,
  sum,
} from "./compaction.ts";
import type { RunSegment } from "./segment.ts";
import { SEGMENTS, SegmentTable } from "./segment-table.ts";
import { GENERATION, type SegmentStore } from "./store.ts";

/** Segments below these sizes are merged with others. */
const SMALL_RUNS = 64;
const SMALL_CHARS = 128 * 1024;
/** Small segments are merged when there are so many segments or runs. */
const MERGED_SEGMENTS = 64;
const MERGED_RUNS = 2000;
const MERGED_SPARSE = 32;
/** Number of segments between two searches for sparse ones. */
const ROUND = 32;

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
    const before = this.#round;
    this.#insert(isSmall ? this.#store.smallTable : SEGMENTS, runs, counts);
    this.#mergeSmall(counts);
    if (this.#round > before) this.#mergeSparse(counts);
  }

  /** Removes all versions of runs, so that none of their data remains. */
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
   * Merges some segments with small bodies, those up to the number `until` once. No run changes.
   *
   * @returns whether it merged any
   */
  mergeSmaller(until: number, min_bytes: number, counts: string): boolean {
    const sizes = [...this.#table.bodyBytes(this.#store.smallTable).values()];
    if (sum(sizes) >= min_bytes) {
      this.#mergeAllSmall(counts);
      return true;
    }
    const group = this.#nextGroup(until);
    if (group.length > 0) this.#merge(group, counts);
    return group.length > 0;
  }

  /**
   * Rewrites the live runs of some segments that have many dead versions. No run changes. Segments
   * whose bodies are in R2 stay unless all runs are dead: a byte there costs less than its requests.
   *
   * @returns whether it rewrote any
   */
  compact(counts: string): boolean {
    const { loaded, smallTable, cold } = this.#store;
    const small = loaded.of(smallTable);
    if (isWasteful(small) && hasDeadBytes(this.#sized(smallTable, small))) {
      this.#mergeAllSmall(counts);
      return true;
    }
    const dead = loaded.of(SEGMENTS).filter((one) => isWasteful([one]));
    const { copied } = cold;
    const wasteful = dead.filter(({ live, number }) => live === 0 || !copied.has(number));
    if (wasteful.length === 0 || !hasDeadBytes(this.#sized(SEGMENTS, wasteful))) return false;
    this.#merge(firstStep(wasteful), counts);
    return true;
  }

  /** Returns adjacent segments with small bodies that fit one segment. */
  #nextGroup(until: number): RunSegment[] {
    const { copied } = this.#store.cold;
    const isHot = ({ table, number }: RunSegment) =>
      table === SEGMENTS && number <= until && !copied.has(number);
    const sizes = this.#table.bodyBytes(SEGMENTS);
    return smallerGroup(sized(this.#store.all.filter(isHot), sizes));
  }

  #sized(table: string, segments: RunSegment[]): SizedSegment[] {
    return sized(segments, this.#table.rowBytes(table));
  }

  get #round(): number {
    return Math.floor(this.#store.loaded.lastNumber / ROUND);
  }

  /** A dropped table writes no rows, unlike rows that are deleted. */
  #mergeSmall(counts: string): void {
    const small = this.#store.loaded.of(this.#store.smallTable);
    const live = sum(small.map((segment) => segment.live));
    if (small.length >= MERGED_SEGMENTS || live >= MERGED_RUNS) this.#mergeAllSmall(counts);
  }

  #mergeAllSmall(counts: string): void {
    const dropped = this.#store.smallTable;
    const small = this.#store.loaded.of(dropped);
    const runs = small.flatMap((segment) => this.#store.liveRuns(segment));
    this.#storage.kv.put(GENERATION, this.#store.generation + 1);
    this.#table.create(this.#store.smallTable);
    this.#insert(SEGMENTS, runs, counts);
    this.#store.loaded.removeEmpty(dropped);
    this.#table.drop(dropped);
  }

  /** Merges segments whose runs were changed later, for the most part. */
  #mergeSparse(counts: string): void {
    const sparse = this.#store.loaded.of(SEGMENTS).filter(isSparse);
    this.#merge(sparse.length >= MERGED_SPARSE ? sparse : [], counts);
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
