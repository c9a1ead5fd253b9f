import type { Pointers } from "../rows/rows.ts";
import { EVERY_RUN, type RunSelection } from "../rows/run-source.ts";
import type { RunTest, RunView } from "../rows/run-view.ts";
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
const ANY_TIME = { min_start_us: null, max_start_us: null, after: null };

/** Yields the runs of a range in the order of start time and id, each with the start that it had at `max_seq`. */
export function* scanRuns(
  reader: RunReader,
  { from_us, to_us, after, until, min_seq, scan_range, ...query }: ScanFilter & ScanRange,
): Generator<RunView> {
  const { max_seq, ...filter } = query;
  const range = { min_start_us: from_us, max_start_us: to_us - 1, after, max_seq };
  const runs =
    filter.filter === null
      ? allRuns(reader, range)
      : reader.matching({ ...NO_CONDITIONS, ...range, ...filter }, "asc");
  for (const run of withMoved(runs, movedRuns(reader, range, filter), max_seq)) {
    if (until !== null && isBehind(run, until)) return;
    if (min_seq === null || run.seq > min_seq || !wasInRange(run, min_seq, scan_range)) yield run;
  }
}

function wasInRange(run: RunView, seq: number, range: ScanRange["scan_range"]): boolean {
  if (range === undefined) return true;
  const start_us = startAt(run, seq);
  return start_us >= range.from_us && start_us < range.to_us;
}

/** Returns the start that a run had at a sequence. */
function startAt(run: RunView, seq: number): number {
  if (run.changed_seq <= seq || run.pointers === null) return run.start_us;
  const { exact }: Pointers = JSON.parse(run.pointers);
  const former = exact?.former_starts?.find(({ until_seq }) => until_seq > seq);
  return former?.start_us ?? run.start_us;
}

type Range = Pick<RunSelection, "min_start_us" | "max_start_us" | "after"> & { max_seq: number };

/** Returns the runs that were in the range at `max_seq`, and whose start has changed since. */
function movedRuns(reader: RunReader, range: Range, filter: ScanFilter): RunView[] {
  const { max_seq } = range;
  const isMatch = reader.testOf({ ...NO_CONDITIONS, ...filter, ...ANY_TIME, max_seq });
  const isInside = rangeTest(range);
  const moved: RunView[] = [];
  for (const run of reader.source.live({ ...EVERY_RUN, max_seq, min_changed_seq: max_seq + 1 })) {
    if (run.seq > max_seq || run.changed_seq <= max_seq) continue;
    const start_us = startAt(run, max_seq);
    if (start_us === run.start_us) continue;
    // A view keeps the payloads that its test loads, so the list gets another view.
    const tested = run.startingAt(start_us);
    if (isInside(tested) && isMatch(tested)) moved.push(run.startingAt(start_us));
  }
  return moved.sort((a, b) => (isBehind(a, b) ? 1 : -1));
}

/** Adds the moved runs where they were, and drops them where they are. */
function* withMoved(runs: Iterable<RunView>, moved: RunView[], seq: number): Generator<RunView> {
  let at = 0;
  for (const run of runs) {
    if (startAt(run, seq) !== run.start_us) continue;
    for (let next = moved[at]; next !== undefined && isBehind(run, next); next = moved[at]) {
      yield next.startingAt(next.start_us);
      at += 1;
    }
    yield run;
  }
  for (const next of moved.slice(at)) yield next.startingAt(next.start_us);
}

/** Tests what `matching` tests, without a call for each test. */
function* allRuns({ source }: RunReader, range: Range): Generator<RunView> {
  const isInside = rangeTest(range);
  for (const run of source.live({ ...EVERY_RUN, ...range, order: "asc" })) {
    if (run.seq <= range.max_seq && isInside(run)) yield run;
  }
}

function rangeTest({ min_start_us, max_start_us, after }: Range): RunTest {
  const [least, greatest] = [min_start_us ?? -Infinity, max_start_us ?? Infinity];
  return (run) => {
    const { start_us } = run;
    if (start_us < least || start_us > greatest) return false;
    return after === null || isBehind(run, after);
  };
}

function isBehind(run: RunView, { start_us, id }: { start_us: number; id: string }): boolean {
  return run.start_us > start_us || (run.start_us === start_us && run.id > id);
}
