import { invalid } from "../../shared/errors.ts";
import type { PartitionKey } from "../changes.ts";
import { findCandidates } from "../filter/candidates.ts";
import { compileFilter } from "../filter/compile.ts";
import { parseFilter } from "../filter/parse.ts";
import type { Filter } from "../filter/tree.ts";
import type { RunsQuery } from "../reads/query.ts";
import type { Columns } from "../reads/reads.ts";
import { readCursor } from "./cursor.ts";
import type { FarMatches, TraceFilters } from "./far-traces.ts";
import type { RunsQueryRequest } from "./query-schema.ts";
import type { Scope } from "./scope.ts";
import { RUN_COLUMNS } from "./to-run.ts";

/** Parts of a query that are the same for all partitions. */
export type QueryPlan = Omit<
  RunsQuery,
  keyof TraceFilters | "trace_matches" | "tree_matches" | "candidates"
> & {
  filters: TraceFilters;
};

/** Limit of SQLite on Cloudflare: 100 bound values in a statement. */
const MAX_VALUES = 90;
const PAYLOADS = new Set<string>(["inputs", "outputs", "extra", "events", "serialized"]);

export function toPlan(input: RunsQueryRequest): QueryPlan {
  const cursor = input.cursor ? readCursor(input.cursor) : null;
  return {
    columns: columnsOf(input.select ?? null),
    ids: null,
    order: input.order ?? "desc",
    limit: input.limit,
    after: cursor,
    max_seq: cursor?.max_seq ?? null,
    filters: readFilters(input),
    ...toTests(input),
  };
}

function toTests(input: RunsQueryRequest) {
  const { start_time, end_time, is_root, error, reference_example } = input;
  return {
    min_start_us: start_time ?? null,
    max_start_us: end_time ?? null,
    is_root: is_root ?? null,
    has_error: error ?? null,
    run_type: input.run_type ?? null,
    trace_id: input.trace ?? null,
    parent_run_id: input.parent_run ?? null,
    execution_order: input.execution_order ?? null,
    reference_example_ids: reference_example ?? null,
  };
}

function readFilters(input: RunsQueryRequest): TraceFilters {
  const read = (name: keyof TraceFilters | "search_filter") => {
    const text = input[name];
    return text == null || text.trim() === "" ? null : parseFilter(text, name);
  };
  const filters = {
    filter: allOf([searchFor(input.query), read("filter"), read("search_filter")]),
    trace_filter: read("trace_filter"),
    tree_filter: read("tree_filter"),
  };
  const values = Object.values(filters).reduce((sum, filter) => {
    return sum + (filter ? compileFilter(filter, { session_id: "" }).params.length : 0);
  }, 0);
  if (values <= MAX_VALUES) return filters;
  const text = `the filters have ${values} values; use at most ${MAX_VALUES}, and in(field, [...]) counts as one`;
  throw invalid(["body", "filter"], text);
}

function searchFor(words: string | null | undefined): Filter | null {
  if (words == null || words.trim() === "") return null;
  return parseFilter(`search(${JSON.stringify(words)})`, "query");
}

function allOf(all: (Filter | null)[]): Filter | null {
  const filters = all.filter((filter) => filter !== null);
  const [only = null] = filters;
  return filters.length > 1 ? { kind: "and", filters } : only;
}

export function toQuery(
  { filters, ...plan }: QueryPlan,
  { project_id }: PartitionKey,
  far: FarMatches,
): RunsQuery {
  const compiled = (filter: Filter | null) =>
    filter && compileFilter(filter, { session_id: project_id });
  return {
    ...plan,
    trace_matches: far.trace,
    tree_matches: far.tree,
    filter: compiled(filters.filter),
    trace_filter: compiled(filters.trace_filter),
    tree_filter: compiled(filters.tree_filter),
    candidates: filters.filter ? findCandidates(filters.filter) : [],
  };
}

export function scopeOf(plan: QueryPlan, session: string[] | null): Scope {
  return {
    session,
    trace: plan.trace_id,
    parent_run: plan.parent_run_id,
    reference_example: plan.reference_example_ids,
    min_start_us: plan.min_start_us,
    max_start_us: plan.max_start_us,
  };
}

export function columnsOf(select: string[] | null): Columns {
  if (select === null) return RUN_COLUMNS;
  return RUN_COLUMNS.filter((column) => !PAYLOADS.has(column) || select.includes(column));
}
