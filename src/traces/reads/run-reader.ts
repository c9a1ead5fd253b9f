import { findCandidates } from "../evaluate/candidates.ts";
import { type FilterScope, toRunTest } from "../evaluate/evaluate.ts";
import type { Filter } from "../filter/tree.ts";
import { UsageIndex } from "../rollup/usage-index.ts";
import type { Columns, Position, TraceRunRow } from "../rows/rows.ts";
import { EVERY_RUN, type RunSelection, type RunSource } from "../rows/run-source.ts";
import type { RunTest, RunView } from "../rows/run-view.ts";
import { onlyTerm, traceTerm } from "../terms.ts";
import { isUsage } from "../totals.ts";
import type { FeedbackLookup } from "./feedback-lookup.ts";
import { MessageRows } from "./message-size.ts";
import { type RunsQuery, type SelectedByFilter, selectionOf, toPlainTest } from "./query.ts";
import { FoundTraces, readsTexts, TracesInTurn, type TraceTest } from "./trace-test.ts";

/** Number of traces up to which their terms narrow a query. */
const MAX_TRACE_TERMS = 500;

/** Number of tested runs after which a search stops: about 200 ms when it reads their texts. See `findsAnew`. */
const MAX_TESTED = 30_000;

/** Rows of a query. `next` is the position where the search stopped early. */
export type FoundPage = { rows: TraceRunRow[]; next: Position | null };

/** `among`: traces to choose from, `null` for all. */
export type WhichTraces = { roots_only: boolean; among: readonly string[] | null };

/** Reads the runs of one partition for one call, while nothing changes. */
export class RunReader {
  readonly source: RunSource;
  readonly feedback: FeedbackLookup;
  readonly usage: UsageIndex;

  constructor(source: RunSource, feedback: FeedbackLookup) {
    this.source = source;
    this.feedback = feedback;
    this.usage = new UsageIndex(source);
  }

  toTest(filter: Filter, project_id: string): RunTest {
    const scope: FilterScope = {
      session_id: project_id,
      usageOf: (run) => this.usage.of(run),
      feedbackOf: (run_id) => this.feedback.of(run_id),
    };
    return toRunTest(filter, scope);
  }

  /** Yields the runs that match. */
  *matching(query: RunsQuery, order: RunSelection["order"]): Generator<RunView> {
    const { candidates, isMatch } = this.#search(query, order);
    for (const run of candidates) if (isMatch(run)) yield run;
  }

  /**
   * Finds a page. Stops early after many runs, so that a search does not hold up other calls, and when the rows fill
   * a message.
   */
  find(query: RunsQuery, max_tested = MAX_TESTED): FoundPage {
    const { candidates, inTraces, isMatch } = this.#search(query, query.order);
    const max = findsAnew(query, inTraces) ? Number.POSITIVE_INFINITY : max_tested;
    const page = new MessageRows<TraceRunRow>();
    const { rows } = page;
    let [tested, last]: [number, RunView | null] = [0, null];
    for (const run of candidates) {
      // A run of a trace without a known result costs a test of the runs of that trace.
      const isSpent =
        page.isFull ||
        tested >= max ||
        inTraces.some((traces) => traces.tested >= max && !traces.isKnown(run));
      // Each call tests at least one run, so that it gets further.
      if (isSpent && last !== null) return { rows, next: { start_us: last.start_us, id: last.id } };
      [tested, last] = [tested + 1, run];
      if (isMatch(run)) page.add(this.toRow(run, query.columns));
      if (rows.length === query.limit) break;
    }
    return { rows, next: null };
  }

  /** Returns a test of the whole query. */
  testOf(query: RunsQuery): RunTest {
    const isPlain = toPlainTest(query);
    const isMatch = this.#filterTest(query, this.#tracesOf(query));
    return (run) => isPlain(run) && isMatch(run);
  }

  /** Returns the traces with a run that matches. */
  matchingTraces(filter: Filter, project_id: string, which: WhichTraces): Set<string> {
    const test = this.toTest(filter, project_id);
    const among = which.among === null ? null : new Set(which.among);
    const is_root = which.roots_only ? true : null;
    const selection = { ...EVERY_RUN, is_root, ...this.selected(filter) };
    const found = new Set<string>();
    for (const run of this.source.live(narrow(selection, among === null ? [] : [among]))) {
      const { trace_id } = run;
      const isWanted = !found.has(trace_id) && among?.has(trace_id) !== false;
      if (isWanted && (is_root === null || run.is_root === 1) && test(run)) found.add(trace_id);
    }
    return found;
  }

  toRow(run: RunView, columns: Columns): TraceRunRow {
    const usage = columns.some(isUsage) ? this.usage.of(run) : null;
    const entries = columns.map((name) => [
      name,
      usage !== null && isUsage(name) ? usage[name] : run[name],
    ]);
    return Object.fromEntries(entries);
  }

  /** Returns conditions that every match of a filter meets. */
  selected(filter: Filter | null): SelectedByFilter {
    const { terms, feedback_keys, ids, ...range } = findCandidates(filter);
    const [key] = feedback_keys;
    const annotated = ids === null && key !== undefined ? this.feedback.runsWith(key) : null;
    return { ...range, candidates: terms, ids: ids ?? annotated };
  }

  #search(query: RunsQuery, order: RunSelection["order"]) {
    const inTraces = this.#tracesOf(query);
    const selection = selectionOf(query, order, this.selected(query.filter));
    const among = inTraces.flatMap((traces) => traces.among ?? []);
    // The plain test drops the runs up to the query's position. They do not count as tested, so each call gets further.
    const candidates = only(this.source.live(narrow(selection, among)), toPlainTest(query));
    return { candidates, inTraces, isMatch: this.#filterTest(query, inTraces) };
  }

  #filterTest(query: RunsQuery, inTraces: TraceTest[]): RunTest {
    const { filter, project_id } = query;
    const test = filter === null ? null : this.toTest(filter, project_id);
    return (run) =>
      inTraces.every(({ among }) => among?.has(run.trace_id) !== false) &&
      (test === null || test(run)) &&
      inTraces.every((traces) => traces.has(run));
  }

  /** Returns a test for each filter of traces. */
  #tracesOf(query: RunsQuery): TraceTest[] {
    const { project_id, trace_filter, tree_filter } = query;
    return [
      this.#traceTest(trace_filter, project_id, true, query.trace_matches),
      this.#traceTest(tree_filter, project_id, false, query.tree_matches),
    ].filter((traces) => traces !== null);
  }

  #traceTest(
    filter: Filter | null,
    project_id: string,
    roots_only: boolean,
    matches: readonly string[],
  ): TraceTest | null {
    if (filter === null) return null;
    if (!readsTexts(filter)) {
      const found = this.matchingTraces(filter, project_id, { roots_only, among: null });
      return new FoundTraces(new Set([...found, ...matches]));
    }
    const test = this.toTest(filter, project_id);
    const isMatch: RunTest = (run) => (!roots_only || run.is_root === 1) && test(run);
    return new TracesInTurn(this.source, isMatch, { among: this.#tracesWith(filter), matches });
  }

  /**
   * Returns the traces with runs that may match a filter, as its terms and ids select them. `null` when it selects all.
   */
  #tracesWith(filter: Filter): Set<string> | null {
    const selected = this.selected(filter);
    if (selected.candidates.length === 0 && selected.ids === null) return null;
    const traces = new Set<string>();
    for (const run of this.source.live({ ...EVERY_RUN, ...selected })) traces.add(run.trace_id);
    return traces;
  }
}

/**
 * Whether each call of a search has to find the traces of its filters again, and no test reads texts. The number of
 * tested runs does not stop such a search: further calls would cost more.
 */
function findsAnew({ filter, trace_filter, tree_filter }: RunsQuery, inTraces: TraceTest[]) {
  return inTraces.length > 0 && ![filter, trace_filter, tree_filter].some(readsTexts);
}

function* only(runs: Iterable<RunView>, test: RunTest): Generator<RunView> {
  for (const run of runs) if (test(run)) yield run;
}

/** Narrows a selection to each of the sets of traces that is small. */
function narrow(selection: RunSelection, inTraces: ReadonlySet<string>[]): RunSelection {
  const few = inTraces.filter(({ size }) => size <= MAX_TRACE_TERMS);
  const lists = few.map((traces) => [...traces].map((id) => onlyTerm(traceTerm(id))));
  return { ...selection, candidates: [...selection.candidates, ...lists] };
}
