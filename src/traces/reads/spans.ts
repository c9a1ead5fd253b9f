import { columnWithUsage, ROWS_WITH_USAGE } from "../rollup/usage-sql.ts";
import type { TraceRunRow } from "./rows.ts";

const COLUMNS = [
  ...(["id", "parent_run_id", "dotted_order", "name", "run_type", "status"] as const),
  ...(["start_us", "end_us", "first_token_us", "tags"] as const),
  ...(["total_tokens", "prompt_tokens", "completion_tokens"] as const),
  ...(["total_cost", "prompt_cost", "completion_cost"] as const),
] satisfies (keyof TraceRunRow)[];

/** Row of a trace run without payloads. `error` is the beginning of the error. */
export type SpanRow = Pick<TraceRunRow, (typeof COLUMNS)[number] | "error"> & {
  is_error_cut: number;
};

/** `rows` are row numbers in the order of the trace. */
export type TraceListing = { seq: number; exists: boolean; rows: number[] };
/** Spans of the first `read` rows of a request. */
export type SpanPage = { spans: SpanRow[]; read: number };

export const MAX_SPANS = 100_000;
export const MAX_SPAN_ERROR_CHARS = 500;
/** Size of a page, far below the limit of RPC: 32 MiB in a message. */
const PAGE_CHARS = 1_000_000;

/** Sorts row numbers, so that pages are read without sorting again. */
export function listTrace(
  sql: SqlStorage,
  trace_id: string,
  min_seq: number,
): Omit<TraceListing, "seq"> {
  const some = sql.exec("SELECT 1 FROM runs WHERE trace_id = ? LIMIT 1", trace_id).toArray();
  const rows = sql
    .exec<{ row: number }>(
      `SELECT row FROM runs WHERE trace_id = ? AND changed_seq > ?
       ORDER BY dotted_order IS NULL, dotted_order, id LIMIT ${MAX_SPANS + 1}`,
      trace_id,
      min_seq,
    )
    .toArray();
  return { exists: some.length > 0, rows: rows.map(({ row }) => row) };
}

/** Reads at least one row, then as many as fit a page. Deleted rows are skipped. */
export function readSpans(sql: SqlStorage, rows: number[]): SpanPage {
  const list = [
    ...COLUMNS.map((name) => `${columnWithUsage(name)} AS ${name}`),
    `substr(r.error, 1, ${MAX_SPAN_ERROR_CHARS}) AS error`,
    `coalesce(length(r.error) > ${MAX_SPAN_ERROR_CHARS}, 0) AS is_error_cut`,
  ];
  const found = sql.exec<Record<string, string | number | null>>(
    `SELECT j.key, ${list.join()} FROM ${ROWS_WITH_USAGE}`,
    JSON.stringify(rows),
  );
  const spans: SpanRow[] = [];
  let chars = 0;
  for (const { key, ...span } of found) {
    if (chars > PAGE_CHARS) return { spans, read: Number(key) };
    chars += JSON.stringify(span).length;
    spans.push(span as unknown as SpanRow);
  }
  return { spans, read: rows.length };
}
