import { NO_OBJECTS, type ObjectBytes, objectBytesOf } from "../rows/object-bytes.ts";
import type { RunVersion } from "../segments/codec/columns.ts";

/** Counts that the catalogue mirrors. */
export type CatalogueCounts = ObjectBytes & {
  rows: number;
  /** Number of runs without a parent. */
  roots: number;
  seq: number;
  min_start_us: number | null;
  max_start_us: number | null;
};

/** `last_row`: number of the newest run. Numbers of deleted runs are not used again. */
type StoredCounts = CatalogueCounts & { last_row: number };

const COUNTS = "counts";
const NONE: StoredCounts = {
  ...{ rows: 0, roots: 0, seq: 0, last_row: 0, min_start_us: null, max_start_us: null },
  ...NO_OBJECTS,
};

export type SizedRun = Pick<RunVersion, "parent_run_id" | "pointers">;

/** Counts of a partition. Ingestion writes them with its segment, so that a batch needs no row for them. */
export class PartitionCounts {
  readonly #kv: DurableObjectStorage["kv"];
  readonly #newest: () => string | null;
  #counts: StoredCounts | null = null;

  /** @param newest counts that were written with the newest segment */
  constructor(storage: DurableObjectStorage, newest: () => string | null) {
    this.#kv = storage.kv;
    this.#newest = newest;
  }

  get current(): Readonly<CatalogueCounts> {
    const { last_row: _, ...counts } = this.#stored;
    return counts;
  }

  /**
   * Returns the time in microseconds, or the last sequence plus one if that is greater. Thus times serve as watermarks.
   */
  nextSeq(): number {
    this.#stored.seq = Math.max(this.#stored.seq + 1, Date.now() * 1000);
    return this.#stored.seq;
  }

  nextRow(): number {
    this.#stored.last_row += 1;
    return this.#stored.last_row;
  }

  /** Counts a run that is written, in place of the version before. */
  track(before: SizedRun | null, run: SizedRun & Pick<RunVersion, "start_us">): void {
    const counts = this.#stored;
    if (before === null) counts.rows += 1;
    counts.roots += rootsOf(run) - (before === null ? 0 : rootsOf(before));
    if (before !== null) this.#addObjects(before, -1);
    this.#addObjects(run, 1);
    const { min_start_us, max_start_us } = counts;
    counts.min_start_us = Math.min(run.start_us, min_start_us ?? run.start_us);
    counts.max_start_us = Math.max(run.start_us, max_start_us ?? run.start_us);
  }

  remove(runs: SizedRun[], range: Pick<CatalogueCounts, "min_start_us" | "max_start_us">): void {
    const { rows, roots } = this.#stored;
    const gone = runs.reduce((sum, run) => sum + rootsOf(run), 0);
    for (const run of runs) this.#addObjects(run, -1);
    Object.assign(this.#stored, range, { rows: rows - runs.length, roots: roots - gone });
  }

  removeAll(): void {
    const { seq, last_row } = this.#stored;
    Object.assign(this.#stored, { ...NONE, seq, last_row });
  }

  /** Returns the counts as a segment keeps them. */
  toText(): string {
    return JSON.stringify(this.#stored);
  }

  /** Writes the counts of a change that adds no segment, in its transaction. */
  save(): void {
    this.#kv.put(COUNTS, this.#stored);
  }

  /** Discards the counts in memory, so that they are read from the storage again. */
  reset(): void {
    this.#counts = null;
  }

  #addObjects(run: SizedRun, sign: 1 | -1): void {
    if (run.pointers === null) return;
    const { payload_bytes, attachment_bytes } = objectBytesOf(run);
    this.#stored.payload_bytes += sign * payload_bytes;
    this.#stored.attachment_bytes += sign * attachment_bytes;
  }

  get #stored(): StoredCounts {
    this.#counts ??= this.#read();
    return this.#counts;
  }

  #read(): StoredCounts {
    const saved = this.#kv.get<StoredCounts>(COUNTS) ?? NONE;
    const text = this.#newest();
    const newest: StoredCounts = text === null ? NONE : JSON.parse(text);
    // Counts of an earlier release have no bytes of objects.
    return { ...NONE, ...(newest.seq > saved.seq ? newest : saved) };
  }
}

function rootsOf({ parent_run_id }: Pick<SizedRun, "parent_run_id">): number {
  return parent_run_id === null ? 1 : 0;
}
