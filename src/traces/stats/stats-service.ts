import { assertMay } from "../../shared/auth.ts";
import type { Context } from "../../shared/context.ts";
import { invalid } from "../../shared/errors.ts";
import { chunks } from "../../shared/work/chunks.ts";
import type { PartitionKey } from "../changes.ts";
import type { FeedbackTotals } from "../feedback-totals.ts";
import { findPartitions } from "../object/catalogue.ts";
import { tracePartition } from "../object/stub.ts";
import { matchFarTraces } from "../query/far-traces.ts";
import { type QueryPlan, scopeOf, toPlan, toQuery } from "../query/query-plan.ts";
import type { RunsQueryRequest } from "../query/query-schema.ts";
import { type PartitionRange, partitionsInScope } from "../query/scope.ts";
import { assertTraceRate } from "../rates.ts";
import type { RunsQuery } from "../reads/query.ts";
import type { Facet, GroupBy, PartitionStats } from "../storage/stats.ts";
import { DISTRIBUTIONS, RunTotals, TIMES } from "../totals.ts";
import { toRunStats } from "./run-stats.ts";
import type { RunStats, RunStatsAnswer, RunStatsRequest } from "./stats-schema.ts";

/** Limit of Workers: 1000 subrequests. */
const MAX_PARTITIONS = 900;
const AT_ONCE = 25;

export async function getRunStats(ctx: Context, input: RunStatsRequest): Promise<RunStatsAnswer> {
  assertMay(ctx, "read");
  assertTraceRate(ctx, "read");
  const { group_by, select } = input;
  const stats = await countRuns(ctx, input, toGroupBy(group_by));
  if (!group_by) return selected(toRunStats(stats.totals, stats.feedback, stats.facets), select);
  const groups = [...stats.groups].sort(([, a], [, b]) => b.runs - a.runs);
  return Object.fromEntries(
    groups
      .slice(0, group_by.max_groups)
      .map(([group, totals]) => [group, selected(toRunStats(totals, [], []), select)]),
  );
}

export type CountedRuns = {
  totals: RunTotals;
  groups: Map<string, RunTotals>;
  feedback: FeedbackTotals[];
  facets: Facet[];
};

/** Adds partition after partition, so that memory does not grow with the runs. */
async function countRuns(
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
  const results = input.id
    ? statsById(ctx, input.id, group_by)
    : statsInScope(ctx, input, group_by);
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

async function* statsById(
  ctx: Context,
  ids: string[],
  group_by: GroupBy | null,
): AsyncGenerator<PartitionStats[]> {
  const plan = toPlan({ limit: 1 });
  for (const { partition, ids: here } of await findPartitions(ctx, ids)) {
    const query = { ...toQuery(plan, partition, { trace: [], tree: [] }), ids: here };
    yield [await tracePartition(ctx.env, partition).getStats(query, group_by)];
  }
}

async function* statsInScope(
  ctx: Context,
  input: Omit<RunsQueryRequest, "limit">,
  group_by: GroupBy | null,
): AsyncGenerator<PartitionStats[]> {
  yield* queryPartitions(ctx, input, (partition, query) =>
    tracePartition(ctx.env, partition).getStats(query, group_by),
  );
}

/** Yields the result of each partition in scope, several at a time. */
export async function* queryPartitions<T>(
  ctx: Context,
  input: Omit<RunsQueryRequest, "limit">,
  query: (partition: PartitionKey, query: RunsQuery) => Promise<T>,
): AsyncGenerator<T[]> {
  const plan = toPlan({ ...input, select: [], limit: 1 });
  const groups = await partitionsInScope(ctx, scopeOf(plan, input.session ?? null), plan.order);
  if (groups.flat().length > MAX_PARTITIONS) {
    const text = `the runs span more than ${MAX_PARTITIONS} days; send a later start_time`;
    throw invalid(["body", "start_time"], text);
  }
  for (const group of inSteps(groups, plan)) {
    const far = await matchFarTraces(ctx, group, plan.filters);
    yield await Promise.all(
      group.map(({ partition }) => query(partition, toQuery(plan, partition, far))),
    );
  }
}

/** Keeps groups apart for filters of traces, which read the days around a group. */
function inSteps(groups: PartitionRange[][], { filters }: QueryPlan): PartitionRange[][] {
  if (filters.trace_filter || filters.tree_filter) return groups;
  return chunks(groups.flat(), AT_ONCE);
}

function toGroupBy(group_by: RunStatsRequest["group_by"]): GroupBy | null {
  if (!group_by) return null;
  const { attribute, path } = group_by;
  return attribute === "metadata" ? { attribute, key: path ?? "" } : { attribute };
}

function selected(stats: RunStats, select: string[] | null | undefined): Partial<RunStats> {
  if (!select || select.includes("all_run_stats")) return stats;
  return Object.fromEntries(Object.entries(stats).filter(([name]) => select.includes(name)));
}
