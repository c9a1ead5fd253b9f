import { assertMay } from "../../shared/auth.ts";
import type { Context } from "../../shared/context.ts";
import type { FeedbackTotals } from "../aggregates/feedback-totals.ts";
import type { GroupBy } from "../aggregates/matching-runs.ts";
import type { Facet, PartitionStats } from "../aggregates/stats.ts";
import { tracePartition } from "../object/stub.ts";
import type { RunsQueryRequest } from "../query/query-schema.ts";
import { assertTraceRate } from "../rates.ts";
import { DISTRIBUTIONS, RunTotals, TIMES } from "../totals.ts";
import { queryPartitions } from "./partition-queries.ts";
import { toRunStats, toTraceStats } from "./run-stats.ts";
import { getRunSeries } from "./series-service.ts";
import type { RunStats, RunStatsAnswer, RunStatsRequest } from "./stats-schema.ts";
import type { TraceStats } from "./trace-stats-schema.ts";

export async function getRunStats(ctx: Context, input: RunStatsRequest): Promise<RunStatsAnswer> {
  assertMay(ctx, "read");
  assertTraceRate(ctx, "read");
  const { group_by, stride, select } = input;
  if (stride) {
    return getRunSeries(ctx, input, stride, group_by ? toSeriesGroups(group_by) : null);
  }
  const stats = await countRuns(ctx, input, group_by ? toAttribute(group_by) : null);
  if (!group_by) return selected(toRunStats(stats.totals, stats.feedback, stats.facets), select);
  const groups = [...stats.groups].sort(([, a], [, b]) => b.runs - a.runs);
  return Object.fromEntries(
    groups
      .slice(0, group_by.max_groups)
      .map(([group, totals]) => [group, selected(toRunStats(totals, [], []), select)]),
  );
}

export type GroupFigures = Pick<
  TraceStats,
  "run_count" | "error_rate" | "latency_p50" | "latency_p99" | "last_run_start_time"
> & { error_count: number };

/** Counts the traces of a project that started since a time, by the value of a key in the metadata of their roots. */
export async function countTracesByMetadata(
  ctx: Context,
  project_id: string,
  key: string,
  start_us: number,
): Promise<Map<string, GroupFigures>> {
  assertMay(ctx, "read");
  assertTraceRate(ctx, "read");
  const input = { session: [project_id], is_root: true, start_time: start_us };
  const { groups } = await countRuns(ctx, input, { attribute: "metadata", key });
  return new Map([...groups].map(([group, totals]) => [group, toFigures(totals)]));
}

function toFigures(totals: RunTotals): GroupFigures {
  const { run_count, error_rate, latency_p50, latency_p99, last_run_start_time } = toTraceStats(
    totals,
    [],
  );
  const error_count = totals.errors;
  return { run_count, error_count, error_rate, latency_p50, latency_p99, last_run_start_time };
}

export type CountedRuns = {
  totals: RunTotals;
  groups: Map<string, RunTotals>;
  feedback: FeedbackTotals[];
  facets: Facet[];
};

/** Adds the totals of all partitions. A partition returns no runs. */
export async function countRuns(
  ctx: Context,
  input: Omit<RunsQueryRequest, "limit">,
  group_by: GroupBy | null,
): Promise<CountedRuns> {
  const counted: CountedRuns = {
    totals: new RunTotals(DISTRIBUTIONS),
    groups: new Map(),
    feedback: [],
    facets: [],
  };
  const results = queryPartitions(ctx, input, (partition, query) =>
    tracePartition(ctx.env, partition).getStats(query, group_by),
  );
  for await (const answers of results) {
    for (const answer of answers) addTo(counted, answer);
  }
  return counted;
}

function addTo(counted: CountedRuns, { totals, groups, feedback, facets }: PartitionStats): void {
  counted.totals.merge(totals);
  counted.feedback.push(...feedback);
  counted.facets.push(...facets);
  for (const { group, totals: data } of groups) {
    const known = counted.groups.get(group) ?? new RunTotals(TIMES);
    known.merge(data);
    counted.groups.set(group, known);
  }
}

type StatsGroupBy = NonNullable<RunStatsRequest["group_by"]>;

function toSeriesGroups(group_by: StatsGroupBy) {
  return { by: toAttribute(group_by), max_groups: group_by.max_groups };
}

function toAttribute({ attribute, path }: StatsGroupBy): GroupBy {
  return attribute === "metadata" ? { attribute, key: path ?? "" } : { attribute };
}

function selected(stats: RunStats, select: string[] | null | undefined): Partial<RunStats> {
  // LangSmith's name for all statistics.
  if (!select || select.includes("all_run_stats")) return stats;
  return Object.fromEntries(Object.entries(stats).filter(([name]) => select.includes(name)));
}
