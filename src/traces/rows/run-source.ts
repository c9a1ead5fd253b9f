import type { TermRange } from "../terms.ts";
import type { Position } from "./rows.ts";
import type { RunView } from "./run-view.ts";

/** Narrows what a source reads. Readers test every run again, so a source may ignore all but the order. */
export type RunSelection = {
  /** Order of start time and id. `null`: any order. */
  order: "asc" | "desc" | null;
  ids: string[] | null;
  trace_ids: string[] | null;
  is_root: boolean | null;
  min_start_us: number | null;
  max_start_us: number | null;
  /** Exclusive start in the given order. */
  after: Position | null;
  max_seq: number | null;
  min_changed_seq: number | null;
  /** A match has, for each inner list, a term in at least one of its ranges. Runs that do not match may have one too. */
  candidates: TermRange[][];
};

/** Selects all runs in any order. */
export const EVERY_RUN: RunSelection = {
  order: null,
  ids: null,
  trace_ids: null,
  is_root: null,
  min_start_us: null,
  max_start_us: null,
  after: null,
  max_seq: null,
  min_changed_seq: null,
  candidates: [],
};

/**
 * Finds the descendants of a run, in its trace, that have tokens or a cost of their own.
 * @returns `null` when that takes a read of the whole trace
 */
export type DescendantsWithUsage = (run: RunView) => RunView[] | null;

/** Number of the runs that start before `from_us`. The caller reads the others from there. */
export type SegmentCount = { runs: number; from_us: number };

/** Runs of one partition that are not deleted. Each occurs once, in its newest version. */
export interface RunSource {
  live(selection: RunSelection): Iterable<RunView>;
  ofTrace(trace_id: string): RunView[];
  byId(id: string): RunView | null;
  /**
   * Counts the first runs, fewer than `limit`, of an ascending selection without ids, traces and candidates. Reads no
   * payloads, and only the heads of segments that do not count as a whole.
   * @returns `null` when nothing can be counted, or a change after `max_seq` may have moved a run
   */
  countBySegments(selection: RunSelection, limit: number): SegmentCount | null;
  /** Returns a lookup that is valid until a run changes. */
  descendantsWithUsage(): DescendantsWithUsage;
}
