import { selectColumn } from "../rollup/usage-sql.ts";
import { matchRuns, type RunsQuery } from "./query.ts";
import type { TraceRunRow } from "./rows.ts";

/** Last change that was read. `row` is `null` when the whole batch was read. */
export type ChangePosition = { seq: number; row: number | null };
export type ChangedRun = TraceRunRow & { row: number; changed_seq: number };
export type ChangedPage = { runs: ChangedRun[]; next: ChangePosition; has_more: boolean };

/** Maximum number of changed rows that a filter reads in one call. */
const MAX_READ = 10_000;

/** Returns matching runs in order of change, up to the newest sequence. */
export function findChanged(
  sql: SqlStorage,
  query: RunsQuery,
  after: ChangePosition,
  newest: number,
): ChangedPage {
  const since = isAfter(after);
  const until = lastRead(sql, since);
  const match = matchRuns(sql, { ...query, candidates: [] });
  const columns = [...query.columns, "row", "changed_seq"].map(selectColumn).join();
  const tests = [since, ...(until === null ? [] : [isUpTo(until)]), match.text].join(" AND ");
  const runs = sql
    .exec(
      `SELECT ${columns} FROM runs r INDEXED BY runs_by_change WHERE ${tests}
       ORDER BY r.changed_seq, r.row LIMIT ${query.limit + 1}`,
      ...match.params,
    )
    .toArray() as unknown as ChangedRun[];
  const page = runs.slice(0, query.limit);
  const last = page.at(-1);
  if (last && runs.length > page.length)
    return { runs: page, next: positionOf(last), has_more: true };
  if (until !== null) return { runs: page, next: until, has_more: true };
  return { runs: page, next: { seq: newest, row: null }, has_more: false };
}

export function positionOf({ changed_seq, row }: ChangedRun): { seq: number; row: number } {
  return { seq: changed_seq, row };
}

/** @returns `null` when fewer rows have changed than one call reads */
function lastRead(sql: SqlStorage, since: string): { seq: number; row: number } | null {
  const [found] = sql
    .exec<{ seq: number; row: number }>(
      `SELECT r.changed_seq AS seq, r.row FROM runs r INDEXED BY runs_by_change WHERE ${since}
       ORDER BY r.changed_seq, r.row LIMIT 1 OFFSET ${MAX_READ - 1}`,
    )
    .toArray();
  return found ?? null;
}

/** Inlines numbers: bound values are reserved for filters. */
function isAfter({ seq, row }: ChangePosition): string {
  if (row === null) return `r.changed_seq > ${seq}`;
  return `(r.changed_seq, r.row) > (${seq}, ${row})`;
}

function isUpTo({ seq, row }: { seq: number; row: number }): string {
  return `(r.changed_seq, r.row) <= (${seq}, ${row})`;
}
