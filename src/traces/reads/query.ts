import type { Filter } from "../filter/tree.ts";
import type { Columns, Position } from "../rows/rows.ts";
import type { RunSelection } from "../rows/run-source.ts";
import type { RunTest, RunView } from "../rows/run-view.ts";

/** Query of one partition. Fields that are `null` do not filter. */
export type RunsQuery = {
  project_id: string;
  columns: Columns;
  ids: string[] | null;
  order: "asc" | "desc";
  limit: number;
  after: Position | null;
  /** Skips runs that were first stored after this sequence, for example after the first page was read. */
  max_seq: number | null;
  min_start_us: number | null;
  max_start_us: number | null;
  is_root: boolean | null;
  has_error: boolean | null;
  run_type: string | null;
  trace_ids: string[] | null;
  parent_run_id: string | null;
  execution_order: number | null;
  reference_example_ids: string[] | null;
  filter: Filter | null;
  trace_filter: Filter | null;
  tree_filter: Filter | null;
  /** Traces that match by a run in another partition. */
  trace_matches: string[];
  tree_matches: string[];
};

/** Part of a selection that follows from a filter. */
export type SelectedByFilter = Pick<
  RunSelection,
  "ids" | "min_start_us" | "max_start_us" | "candidates"
>;

/** Returns the conditions by which a source can skip runs. `order`: order of its reads. */
export function selectionOf(
  query: RunsQuery,
  order: RunSelection["order"],
  { ids, min_start_us, max_start_us, candidates }: SelectedByFilter,
): RunSelection {
  const { trace_ids, is_root, after, max_seq } = query;
  return {
    ...{ order, trace_ids, is_root, max_seq, candidates },
    ids: query.ids ?? ids,
    min_changed_seq: null,
    min_start_us: strictest(Math.max, query.min_start_us, min_start_us),
    max_start_us: strictest(Math.min, query.max_start_us, max_start_us),
    // A source that reads in another order cannot begin at the position: the plain test drops the runs up to it.
    after: order === query.order ? after : null,
  };
}

function strictest(
  choose: (a: number, b: number) => number,
  a: number | null,
  b: number | null,
): number | null {
  return a === null || b === null ? (a ?? b) : choose(a, b);
}

/** Tests everything but the filters. */
export function toPlainTest(query: RunsQuery): RunTest {
  const tests = [...listTests(query), ...equalityTests(query), ...rangeTests(query)];
  return (run) => tests.every((test) => test(run));
}

function listTests({ ids, trace_ids, reference_example_ids }: RunsQuery): RunTest[] {
  const tests: RunTest[] = [];
  if (ids !== null) {
    const wanted = new Set(ids);
    tests.push(({ id }) => wanted.has(id));
  }
  if (trace_ids !== null) {
    const wanted = new Set(trace_ids);
    tests.push((run) => wanted.has(run.trace_id));
  }
  if (reference_example_ids !== null) {
    const wanted = new Set<string | null>(reference_example_ids);
    tests.push((run) => wanted.has(run.reference_example_id));
  }
  return tests;
}

function equalityTests(query: RunsQuery): RunTest[] {
  const { is_root, has_error } = query;
  const tests: RunTest[] = [];
  if (is_root !== null) tests.push((run) => (run.is_root === 1) === is_root);
  if (has_error !== null) tests.push(({ status }) => (status === "error") === has_error);
  for (const name of ["run_type", "parent_run_id", "execution_order"] as const) {
    const wanted = query[name];
    if (wanted !== null) tests.push((run) => run[name] === wanted);
  }
  return tests;
}

function rangeTests({ after, order, max_seq, ...range }: RunsQuery): RunTest[] {
  const { min_start_us, max_start_us } = range;
  const tests: RunTest[] = [];
  if (min_start_us !== null) tests.push(({ start_us }) => start_us >= min_start_us);
  if (max_start_us !== null) tests.push(({ start_us }) => start_us <= max_start_us);
  if (max_seq !== null) tests.push(({ seq }) => seq <= max_seq);
  if (after !== null) {
    const sign = order === "asc" ? 1 : -1;
    tests.push((run) => sign * comparePositions(run, after) > 0);
  }
  return tests;
}

export function comparePositions(a: Pick<RunView, keyof Position>, b: Position): number {
  if (a.start_us !== b.start_us) return a.start_us - b.start_us;
  if (a.id === b.id) return 0;
  return a.id < b.id ? -1 : 1;
}
