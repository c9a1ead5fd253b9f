import type { SegmentHead } from "./codec/head.ts";
import { hashKey } from "./codec/trace-hashes.ts";
import { placeOf, RunIds, runOf } from "./run-ids.ts";
import type { RunSegment } from "./segment.ts";

/**
 * Number of runs with usage in a trace up to which each is compared. Beyond it, the caller builds the tree of the
 * trace.
 */
const MAX_COMPARED = 16;
const NONE = -1;

/** Runs of one segment that have usage, by their traces. Valid until a run of the partition changes. */
export class SegmentUsage {
  readonly #head: SegmentHead;
  readonly #traces: Uint32Array;
  /** Last run with usage of each trace. */
  readonly #last: RunIds;
  /** For each run with usage, the one before it in its trace. */
  readonly #before: Int16Array;
  readonly #isWhole: (trace_hash: number) => boolean;

  /** @param isWhole returns true only when no other segment has live runs of a trace */
  constructor(head: SegmentHead, segment: RunSegment, isWhole: (trace_hash: number) => boolean) {
    this.#head = head;
    this.#isWhole = isWhole;
    this.#traces = head.idWords("trace_id");
    this.#last = new RunIds(() => this.#traces);
    this.#before = new Int16Array(head.runs);
    for (let n = 0; n < head.runs; n++) {
      if (!head.hasUsage(n) || !head.hasUuid("trace_id", n) || !segment.isLive(n)) continue;
      const before = this.#last.set(this.#traces, n, placeOf(0, n));
      this.#before[n] = before === null ? NONE : runOf(before);
    }
  }

  /**
   * Returns the runs with usage below a run.
   * @returns `null` when the trace may have runs in other segments, has too many to compare, or has another id than a
   * UUID
   */
  below(n: number): number[] | null {
    const traces = this.#traces;
    if (!this.#head.hasUuid("trace_id", n) || !this.#isWhole(hashKey(traces, n))) return null;
    const found: number[] = [];
    const last = this.#last.find(traces, n);
    let compared = 0;
    for (let m = last === null ? NONE : runOf(last); m !== NONE; m = this.#before[m] ?? NONE) {
      compared += 1;
      if (compared > MAX_COMPARED) return null;
      if (this.#head.isDescendant(m, n)) found.push(m);
    }
    return found;
  }
}
