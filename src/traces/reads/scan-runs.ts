import type { Pointers } from "../rows/rows.ts";
import { EVERY_RUN, type RunSelection } from "../rows/run-source.ts";
import type { RunView } from "../rows/run-view.ts";
import type { RunsQuery } from "./query.ts";
import type { RunReader } from "./run-reader.ts";
import type { ScanRange } from "./scan-types.ts";

export type ScanFilter = Pick<RunsQuery, "project_id" | "filter">;

/** The fields of a query that a scan does not use. */
const NO_CONDITIONS = {
  columns: [],
  ids: null,
  order: "asc",
  limit: 0,
  is_root: null,
  has_error: null,
  run_type: null,
  trace_ids: null,
  parent_run_id: null,
  execution_order: null,
  reference_example_ids: null,
  trace_filter: null,
  tree_filter: null,
  trace_matches: [],
  tree_matches: [],
} satisfies Partial<RunsQuery>;

/** Yields the runs of a range in the order of start time and id. */
export function* scanRuns(
  reader: RunReader,
  { from_us, to_us, after, until, min_seq, scan_range, ...query }: ScanFilter & ScanRange,
): Generator<RunView> {
  const { max_seq, ...filter } = query;
  const seqs = { min_seq, max_seq, scan_range };
  const range = { min_start_us: from_us, max_start_us: to_us - 1, after, max_seq };
  const runs =
    filter.filter === null
      ? allRuns(reader, range)
      : reader.matching({ ...NO_CONDITIONS, ...range, ...filter }, "asc");
  for (const run of runs) {
    if (until !== null && isBehind(run, until)) return;
    if (isNew(run, seqs)) yield run;
  }
}

type SeqRange = Pick<ScanRange, "min_seq" | "max_seq" | "scan_range">;

/** Whether the run was in the range of the scan at `max_seq`, and not yet at `min_seq`. */
function isNew(run: RunView, { min_seq, max_seq, scan_range }: SeqRange): boolean {
  if (!wasInRange(run, max_seq, scan_range)) return false;
  return min_seq === null || run.seq > min_seq || !wasInRange(run, min_seq, scan_range);
}

/** Tests a run that is in the range now: a later change may have moved its start into it. */
function wasInRange(run: RunView, seq: number, range: ScanRange["scan_range"]): boolean {
  if (range === undefined || run.changed_seq <= seq || run.pointers === null) return true;
  const { exact }: Pointers = JSON.parse(run.pointers);
  const former_starts = exact?.former_starts ?? [];
  const former = former_starts.find(({ until_seq }) => until_seq > seq);
  const start_us = former?.start_us ?? run.start_us;
  return start_us >= range.from_us && start_us < range.to_us;
}

type Range = Pick<RunSelection, "min_start_us" | "max_start_us" | "after" | "max_seq">;

/** Tests what `matching` tests, without a call for each test. */
function* allRuns({ source }: RunReader, range: Range): Generator<RunView> {
  const { after } = range;
  const [least, greatest] = [range.min_start_us ?? -Infinity, range.max_start_us ?? Infinity];
  const newest = range.max_seq ?? Infinity;
  for (const run of source.live({ ...EVERY_RUN, ...range, order: "asc" })) {
    const { start_us } = run;
    if (start_us < least || start_us > greatest || run.seq > newest) continue;
    if (after === null || isBehind(run, after)) yield run;
  }
}

function isBehind(run: RunView, { start_us, id }: { start_us: number; id: string }): boolean {
  return run.start_us > start_us || (run.start_us === start_us && run.id > id);
}
