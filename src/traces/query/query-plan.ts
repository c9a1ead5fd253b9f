import { invalid } from "../../shared/errors.ts";
import { decodeCursor, encodeCursor } from "../../shared/http/cursor.ts";
import type { PartitionKey } from "../changes.ts";
import { countValues, MAX_FILTER_VALUES, parseFilter } from "../filter/parse.ts";
import type { Filter } from "../filter/tree.ts";
import type { RunsQuery } from "../reads/query.ts";
import type { Columns, Position } from "../rows/rows.ts";
import type { FarMatches, TraceFilters } from "./far-traces.ts";
import type { RunsQueryRequest } from "./query-schema.ts";
import type { Scope } from "./scope.ts";
import { RUN_COLUMNS } from "./to-run.ts";

/** Parts of a query that are the same for all partitions. */
export type QueryPlan = Omit<
  RunsQuery,
  keyof TraceFilters | "trace_matches" | "tree_matches" | "project_id"
> & {
  filters: TraceFilters;
};

/** Suffix of fields that are computed from a payload: `inputs_preview` needs `inputs`. */
const PREVIEW = /_preview$/;
const PAYLOADS = new Set<string>(["inputs", "outputs", "extra", "events", "serialized"]);

export function toPlan(input: RunsQueryRequest): QueryPlan {
  const cursor = input.cursor ? readCursor(input.cursor) : null;
  return {
    columns: columnsOf(input.select ?? null),
    ids: input.id ?? null,
    order: input.order ?? "desc",
    limit: input.limit,
    after: cursor,
    max_seq: cursor?.max_seq ?? null,
    filters: readFilters(input),
    ...toTests(input),
  };
}

function toTests(input: RunsQueryRequest) {
  const { start_time, end_time, error, reference_example } = input;
  return {
    min_start_us: start_time ?? null,
    max_start_us: end_time ?? null,
    ...toPosition(input),
    has_error: error ?? null,
    run_type: input.run_type ?? null,
    trace_ids: input.trace ? [input.trace] : null,
    parent_run_id: input.parent_run ?? null,
    reference_example_ids: reference_example ?? null,
  };
}

/** Selects root runs for `execution_order: 1`, unless `is_root` is false: most runs are stored without an order. */
function toPosition({ is_root = null, execution_order = null }: RunsQueryRequest) {
  if (execution_order === 1 && is_root !== false) return { is_root: true, execution_order: null };
  return { is_root, execution_order };
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
    return sum + (filter ? countValues(filter) : 0);
  }, 0);
  if (values <= MAX_FILTER_VALUES) return filters;
  const text = `the filters have ${values} values; use at most ${MAX_FILTER_VALUES}, and in(field, [...]) counts as one`;
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
  return { ...plan, ...filters, project_id, trace_matches: far.trace, tree_matches: far.tree };
}

export function scopeOf(plan: QueryPlan, session: string[] | null): Scope {
  return {
    session,
    ids: plan.ids,
    trace: plan.trace_ids?.[0] ?? null,
    parent_run: plan.parent_run_id,
    reference_example: plan.reference_example_ids,
    min_start_us: plan.min_start_us,
    max_start_us: plan.max_start_us,
  };
}

export function columnsOf(select: string[] | null): Columns {
  if (select === null) return RUN_COLUMNS;
  const wanted = new Set(select.map((name) => name.replace(PREVIEW, "")));
  return RUN_COLUMNS.filter((column) => !PAYLOADS.has(column) || wanted.has(column));
}

/** Position behind which the next page begins, and the newest sequence when the first page was read. */
export type Cursor = Position & { max_seq: number };

export function writeCursor({ start_us, id, max_seq }: Cursor): string {
  return encodeCursor({ s: start_us, i: id, w: max_seq });
}

export function readCursor(text: string): Cursor {
  const { s, i, w } = decodeCursor(text);
  const isRight = Number.isSafeInteger(s) && Number.isSafeInteger(w) && typeof i === "string";
  if (isRight) return { start_us: Number(s), id: i, max_seq: Number(w) };
  throw invalid(["body", "cursor"], "is invalid; send the cursor of the previous page, or none");
}
