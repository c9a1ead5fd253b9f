import type { CompiledFilter } from "../filter/compile.ts";
import { selectColumn } from "../rollup/usage-sql.ts";
import type { Columns } from "./reads.ts";
import type { TraceRunRow } from "./rows.ts";

export type Position = { start_us: number; id: string };

/** Query of one partition. Missing and `null` fields do not filter. */
export type RunsQuery = {
  columns: Columns;
  ids: string[] | null;
  order: "asc" | "desc";
  limit: number;
  after: Position | null;
  max_seq: number | null;
  min_start_us: number | null;
  max_start_us: number | null;
  is_root: boolean | null;
  has_error: boolean | null;
  run_type: string | null;
  trace_id: string | null;
  parent_run_id: string | null;
  execution_order: number | null;
  reference_example_ids: string[] | null;
  filter: CompiledFilter | null;
  trace_filter: CompiledFilter | null;
  tree_filter: CompiledFilter | null;
  /** Traces that match by a run in another partition. */
  trace_matches: string[];
  tree_matches: string[];
  /** Index queries that select every row the filter can match. */
  candidates: CompiledFilter[];
};

/** Maximum number of candidate rows read one by one. */
const MAX_CANDIDATES = 5000;

export function findRuns(sql: SqlStorage, query: RunsQuery): TraceRunRow[] {
  const { text, params } = matchRuns(sql, query);
  const direction = query.order === "asc" ? "ASC" : "DESC";
  const columns = query.columns.map(selectColumn).join();
  const statement = `SELECT ${columns} FROM runs r WHERE ${text}
    ORDER BY r.start_us ${direction}, r.id ${direction} LIMIT ${query.limit}`;
  return sql.exec(statement, ...params).toArray() as unknown as TraceRunRow[];
}

/** Returns the condition of a query, narrowed to candidate rows when the index selects few. */
export function matchRuns(sql: SqlStorage, query: RunsQuery): Condition {
  const { text, params } = toCondition(query);
  const rows = narrow(sql, query.candidates);
  if (rows === null) return { text: `(${text})`, params };
  return {
    text: `r.row IN (SELECT value FROM json_each(?)) AND (${text})`,
    params: [JSON.stringify(rows), ...params],
  };
}

/** Returns the rows of the shortest candidate list, `null` when all lists are long. */
export function narrow(sql: SqlStorage, candidates: CompiledFilter[]): number[] | null {
  let shortest: number[] | null = null;
  for (const { sql: text, params } of candidates) {
    const limit: number = shortest?.length ?? MAX_CANDIDATES;
    const rows: { row: number }[] = sql
      .exec<{ row: number }>(`SELECT DISTINCT row FROM (${text}) LIMIT ${limit}`, ...params)
      .toArray();
    if (rows.length < limit) shortest = rows.map(({ row }) => row);
  }
  return shortest;
}

type Param = string | number | null;
type Condition = { text: string; params: Param[] };

function toCondition(query: RunsQuery): Condition {
  const plain = [...plainTests(query), ...rangeTests(query)];
  // Joins filters side by side: each may use SQLite's full expression depth.
  const filters = [
    ...filterTest(query.filter, (text) => text),
    ...traceTest(query.trace_filter, "r.is_root = 1 AND ", query.trace_matches),
    ...traceTest(query.tree_filter, "", query.tree_matches),
  ];
  const all = [...filters, ...plain];
  return {
    text: all.map(({ text }) => `(${text})`).join(" AND ") || "1",
    params: all.flatMap(({ params }) => params),
  };
}

function traceTest(filter: CompiledFilter | null, which: string, matches: string[]): Condition[] {
  const [test] = filterTest(
    filter,
    (text) => `r.trace_id IN (SELECT r.trace_id FROM runs r WHERE ${which}${text})`,
  );
  if (test === undefined || matches.length === 0) return test ? [test] : [];
  const text = `${test.text} OR r.trace_id IN (SELECT value FROM json_each(?))`;
  return [{ text, params: [...test.params, JSON.stringify(matches)] }];
}

function filterTest(filter: CompiledFilter | null, wrap: (text: string) => string): Condition[] {
  return filter === null ? [] : [{ text: wrap(`(${filter.sql})`), params: filter.params }];
}

function plainTests(query: RunsQuery): Condition[] {
  const tests = idTests(query);
  const { is_root, has_error } = query;
  if (is_root !== null) tests.push({ text: `r.is_root = ${is_root ? 1 : 0}`, params: [] });
  if (has_error !== null) {
    tests.push({ text: `r.status ${has_error ? "=" : "<>"} 'error'`, params: [] });
  }
  for (const name of ["run_type", "trace_id", "parent_run_id", "execution_order"] as const) {
    if (query[name] !== null) tests.push({ text: `r.${name} = ?`, params: [query[name]] });
  }
  return tests;
}

function idTests({ ids, reference_example_ids }: RunsQuery): Condition[] {
  const lists = { id: ids, reference_example_id: reference_example_ids };
  return Object.entries(lists).flatMap(([name, list]) => {
    if (list === null) return [];
    const text = `r.${name} IN (SELECT value FROM json_each(?))`;
    return [{ text, params: [JSON.stringify(list)] }];
  });
}

/** Inlines numbers: bound values are reserved for filters. */
function rangeTests(query: RunsQuery): Condition[] {
  const { after, order, max_seq, min_start_us, max_start_us } = query;
  const tests: Condition[] = [];
  if (min_start_us !== null) tests.push({ text: `r.start_us >= ${min_start_us}`, params: [] });
  if (max_start_us !== null) tests.push({ text: `r.start_us <= ${max_start_us}`, params: [] });
  if (max_seq !== null) tests.push({ text: `r.seq <= ${max_seq}`, params: [] });
  if (after !== null) {
    const sign = order === "asc" ? ">" : "<";
    tests.push({ text: `(r.start_us, r.id) ${sign} (${after.start_us}, ?)`, params: [after.id] });
  }
  return tests;
}
