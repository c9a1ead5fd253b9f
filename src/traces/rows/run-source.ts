import type { TermRange } from "../terms.ts";
import type { Position } from "./rows.ts";
import type { RunView } from "./run-view.ts";

/** Narrows what a source reads. Readers test every run again, so a source may ignore all but the order. */
export type RunSelection = {
  /** Order of start time and id. `null`: any order. */
  order: "asc" | "desc" | null;
  ids: string[] | null;
  trace_id: string | null;
  is_root: boolean | null;
  min_start_us: number | null;
  max_start_us: number | null;
  /** Exclusive start in the given order. */
  after: Position | null;
  max_seq: number | null;
  /** Every match has a term in one of the ranges of each list. */
  candidates: TermRange[][];
};

/** Selects all runs in any order. */
export const EVERY_RUN: RunSelection = {
  order: null,
  ids: null,
  trace_id: null,
  is_root: null,
  min_start_us: null,
  max_start_us: null,
  after: null,
  max_seq: null,
  candidates: [],
};

/**
 * Finds the runs with usage below a run in its trace.
 * @returns `null` when that takes a read of the whole trace
 */
export type UsedBelow = (run: RunView) => RunView[] | null;

/** Number of the runs that start before `from_us`. */
export type FirstRuns = { runs: number; from_us: number };

/** Live runs of one partition. Each run occurs once, in its newest version. */
export interface RunSource {
  live(selection: RunSelection): Iterable<RunView>;
  ofTrace(trace_id: string): RunView[];
  byId(id: string): RunView | null;
  /**
   * Counts the first runs of an ascending selection without ids and candidates, fewer than `limit`.
   * @returns `null` when it counts none
   */
  countFirst(selection: RunSelection, limit: number): FirstRuns | null;
  /** Returns a lookup that is valid until a run changes. */
  usedBelow(): UsedBelow;
}
