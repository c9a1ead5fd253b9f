import type { RunsQuery } from "../reads/query.ts";
import type { RunReader } from "../reads/run-reader.ts";
import { RunTotals, SERIES_TIMES, type TotalsData } from "../totals.ts";
import {
  type GroupBy,
  groupsOf,
  type MatchingRun,
  readMatching,
  UsageOnce,
} from "./matching-runs.ts";

export type SeriesQuery = {
  group_by: GroupBy | null;
  /** Groups with a series each. The runs of all other groups, and those without a group, are one series. */
  groups: string[];
  first_us: number;
  stride_us: number;
};

/** Totals of one bucket of one series. `group` is the index of the group in `groups`, -1 for the rest. */
export type SeriesCell = { group: number; bucket: number; totals: TotalsData };
export type GroupCount = { group: string; runs: number };

/** Maximum number of groups that are counted to find the largest. Further groups are ignored. */
const MAX_COUNTED = 10_000;
const MAX_RETURNED = 1000;

/** Sums matching runs by bucket and group in one pass. */
export function collectSeries(
  reader: RunReader,
  query: RunsQuery,
  { group_by, groups, first_us, stride_us }: SeriesQuery,
): SeriesCell[] {
  const indexes = new Map(groups.map((group, n) => [group, n]));
  const cells = new Map<string, { group: number; bucket: number; totals: RunTotals }>();
  const once = new Map<number, UsageOnce>();
  for (const run of readMatching(reader, query, group_by, { withQueueWait: true })) {
    const bucket = Math.floor((run.start_us - first_us) / stride_us);
    for (const group of seriesOf(run, indexes)) {
      const key = `${group}/${bucket}`;
      const cell = cells.get(key) ?? { group, bucket, totals: new RunTotals(SERIES_TIMES) };
      const series = once.get(group) ?? new UsageOnce();
      once.set(group, series);
      cell.totals.add(series.toCounted(run));
      cells.set(key, cell);
    }
  }
  return [...cells.values()].map((cell) => ({ ...cell, totals: cell.totals.toData() }));
}

/** Returns the largest groups of the matching runs. */
export function countGroups(reader: RunReader, query: RunsQuery, group_by: GroupBy): GroupCount[] {
  const counts = new Map<string, number>();
  for (const run of reader.matching(query, null)) {
    for (const group of groupsOf(run, group_by)) {
      const known = counts.get(group);
      if (known !== undefined || counts.size < MAX_COUNTED) counts.set(group, (known ?? 0) + 1);
    }
  }
  const largest = [...counts].sort(byCount).slice(0, MAX_RETURNED);
  return largest.map(([group, runs]) => ({ group, runs }));
}

function byCount([a, n]: [string, number], [b, m]: [string, number]): number {
  if (n !== m) return m - n;
  return a < b ? -1 : 1;
}

/** Returns the series of a run. A run with several tags is in the series of each listed one. */
function seriesOf({ groups }: MatchingRun, indexes: Map<string, number>): number[] {
  const found = groups.flatMap((group) => indexes.get(group) ?? []);
  return found.length === 0 ? [-1] : found;
}
