import type { RunChange } from "../changes.ts";
import type { RunVersion } from "../segments/codec/columns.ts";
import type { SegmentStore } from "../segments/store.ts";
import type { SegmentWriter } from "../segments/writer.ts";
import type { PartitionCounts } from "./counts.ts";
import { changeRun, createRun } from "./runs.ts";

/** Changes of one transaction. Collects whole new versions of runs, and writes them together. */
export class ChangeBatch {
  /** Sequence of all changes of the batch, a time in microseconds. One for each run would be ahead of the clock. */
  readonly seq: number;
  readonly #segments: SegmentStore;
  readonly #writer: SegmentWriter;
  readonly #counts: PartitionCounts;
  readonly #runs = new Map<string, RunVersion>();
  /** Runs before the batch, `null` for unknown ids. */
  readonly #before = new Map<string, RunVersion | null>();

  constructor(segments: SegmentStore, writer: SegmentWriter, counts: PartitionCounts) {
    this.#segments = segments;
    this.#writer = writer;
    this.#counts = counts;
    this.seq = counts.nextSeq();
  }

  has(id: string): boolean {
    return this.#runs.has(id) || this.#segments.find(id) !== null;
  }

  /** Returns the run as the batch leaves it so far. */
  find(id: string): RunVersion | null {
    return this.#runs.get(id) ?? this.#stored(id);
  }

  /** Creates the run of the change, or merges the change into it. */
  apply(change: RunChange): void {
    const stored = this.find(change.id);
    if (stored !== null) this.put(changeRun(stored, change, this.seq));
    else this.put(createRun(change, { row: this.#counts.nextRow(), seq: this.seq }));
  }

  /** Replaces the whole version of a run. */
  put(run: RunVersion): void {
    this.#runs.set(run.id, run);
  }

  /** Writes all versions at once. Must be called at most once. */
  write(): void {
    if (this.#runs.size === 0) return;
    for (const run of this.#runs.values()) this.#counts.track(this.#stored(run.id), run);
    this.#writer.write([...this.#runs.values()], this.#counts.toText());
  }

  #stored(id: string): RunVersion | null {
    const known = this.#before.get(id);
    if (known !== undefined) return known;
    const location = this.#segments.find(id);
    const run = location === null ? null : this.#segments.read(location);
    this.#before.set(id, run);
    return run;
  }
}
