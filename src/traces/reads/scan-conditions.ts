import type { CompiledFilter } from "../filter/compile.ts";
import { narrow } from "./query.ts";
import type { ScanRange, ScanValue } from "./scan-types.ts";

/** Filter with index queries that select every row it can match. */
export type ScanFilter = { filter: CompiledFilter | null; candidates: CompiledFilter[] };

export type SqlCondition = { from: string; text: string; params: ScanValue[] };

/** Forces the index in the order of the scan. */
export const IN_ORDER = "runs r INDEXED BY runs_by_start";
export const ORDER = "ORDER BY r.start_us, r.id";

/**
 * Compares row numbers instead of sequences: they grow together, and every index contains the row.
 */
export function conditionsOf(
  sql: SqlStorage,
  { filter, candidates, min_seq, max_seq }: ScanFilter & Pick<ScanRange, "min_seq" | "max_seq">,
): (range: ScanRange) => SqlCondition {
  const among = narrow(sql, candidates);
  const last = numbersOf(sql, "SELECT max(row) FROM runs")[0] ?? 0;
  const least = min_seq === null ? 0 : lastRow(sql, min_seq, last);
  const greatest = lastRow(sql, max_seq, last);
  const tests: string[] = [];
  if (filter !== null) tests.push(`(${filter.sql})`);
  if (among !== null) tests.push("r.row IN (SELECT value FROM json_each(?))");
  if (least > 0) tests.push(`+r.row > ${least}`);
  if (greatest < last) tests.push(`+r.row <= ${greatest}`);
  const bound = [...(filter?.params ?? []), ...(among === null ? [] : [JSON.stringify(among)])];
  // Without candidates, the index order keeps a page from reading the whole day.
  const from = among === null ? IN_ORDER : "runs r";
  return (range) => {
    const edges = rangeTests(range);
    const text = [...tests, ...edges.map((edge) => edge.text)].join(" AND ");
    return { from, text, params: [...bound, ...edges.flatMap(({ params }) => params)] };
  };
}

/** Finds the last row at or before the sequence. */
function lastRow(sql: SqlStorage, seq: number, last: number): number {
  let [low, high] = [0, last];
  let middle = high;
  while (low < high) {
    const newest = "SELECT seq FROM runs WHERE row >= ? ORDER BY row LIMIT 1";
    const [found = 0] = numbersOf(sql, newest, [middle]);
    if (found <= seq) low = middle;
    else high = middle - 1;
    middle = Math.ceil((low + high) / 2);
  }
  return low;
}

/** Returns one lower and one upper bound: of two lower bounds, SQLite seeks by either. */
function rangeTests({ from_us, to_us, after, until }: ScanRange) {
  const lower =
    after === null
      ? { text: `r.start_us >= ${from_us}`, params: [] }
      : { text: `(r.start_us, r.id) > (${after.start_us}, ?)`, params: [after.id] };
  const upper =
    until === null
      ? { text: `r.start_us < ${to_us}`, params: [] }
      : { text: `(r.start_us, r.id) <= (${until.start_us}, ?)`, params: [until.id] };
  return [lower, upper];
}

export function numbersOf(sql: SqlStorage, text: string, params: ScanValue[] = []): number[] {
  return [...valuesOf(sql, text, params)].map(([value]) => Number(value ?? 0));
}

export function valuesOf(
  sql: SqlStorage,
  text: string,
  params: ScanValue[] = [],
): Iterable<ScanValue[]> {
  return sql.exec(text, ...params).raw<ScanValue[]>();
}
