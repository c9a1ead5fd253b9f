import { matchRuns, type RunsQuery } from "../reads/query.ts";
import { RunTotals, TIMES, type TotalsData } from "../totals.ts";
import {
  type GroupBy,
  groupColumn,
  groupsOf,
  type MatchingRun,
  readMatching,
  UsageOnce,
} from "./matching-runs.ts";

export type SeriesQuery = {
  group_by: GroupBy | null;
  /** Groups with their own series; the runs of all other groups are one series. */
  groups: string[];
  first_us: number;
  stride_us: number;
};

/** Totals of one bucket of one series. `group` is its index in `groups`, -1 for the rest. */
export type SeriesCell = { group: number; bucket: number; totals: TotalsData };
export type GroupCount = { group: string; runs: number };

/** Number of groups counted to choose the largest. */
const MAX_COUNTED = 10_000;
const MAX_RETURNED = 1000;

/** Sums matching runs by bucket and group in one pass. */
export function collectSeries(
  sql: SqlStorage,
  query: RunsQuery,
  { group_by, groups, first_us, stride_us }: SeriesQuery,
): SeriesCell[] {
  const indexes = new Map(groups.map((group, n) => [group, n]));
  const cells = new Map<string, { group: number; bucket: number; totals: RunTotals }>();
  const once = new Map<number, UsageOnce>();
  for (const run of readMatching(sql, matchRuns(sql, query), group_by)) {
    const bucket = Math.floor((run.start_us - first_us) / stride_us);
    for (const group of seriesOf(run, indexes)) {
      const key = `${group}/${bucket}`;
      const cell = cells.get(key) ?? { group, bucket, totals: new RunTotals(TIMES) };
      const series = once.get(group) ?? new UsageOnce();
      once.set(group, series);
      cell.totals.add(series.take(run));
      cells.set(key, cell);
    }
  }
  return [...cells.values()].map((cell) => ({ ...cell, totals: cell.totals.toData() }));
}

/** Returns the largest groups of the matching runs. */
export function countGroups(sql: SqlStorage, query: RunsQuery, group_by: GroupBy): GroupCount[] {
  const counts = new Map<string, number>();
  const match = matchRuns(sql, query);
  const column = groupColumn(group_by);
  const rows = sql.exec<{ groups: string | null; runs: number }>(
    `SELECT ${column.text} AS groups, count(*) AS runs FROM runs r WHERE ${match.text} GROUP BY 1`,
    ...column.params,
    ...match.params,
  );
  for (const { groups, runs } of rows) {
    for (const group of groupsOf(groups)) {
      const known = counts.get(group);
      if (known !== undefined || counts.size < MAX_COUNTED) counts.set(group, (known ?? 0) + runs);
    }
  }
  const largest = [...counts].sort(([, a], [, b]) => b - a).slice(0, MAX_RETURNED);
  return largest.map(([group, runs]) => ({ group, runs }));
}

/** A run with several tags is in the series of each. */
function seriesOf({ groups }: MatchingRun, indexes: Map<string, number>): number[] {
  const found = groupsOf(groups).flatMap((group) => indexes.get(group) ?? []);
  return found.length === 0 ? [-1] : found;
}
