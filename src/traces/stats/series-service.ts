import type { Context } from "../../shared/context.ts";
import { invalid } from "../../shared/errors.ts";
import { nowMicros, toIso } from "../../shared/times.ts";
import type { GroupBy } from "../aggregates/matching-runs.ts";
import type { SeriesQuery } from "../aggregates/series.ts";
import { tracePartition } from "../object/stub.ts";
import type { RunsQueryRequest } from "../query/query-schema.ts";
import { RunTotals, SERIES_TIMES } from "../totals.ts";
import { queryPartitions } from "./partition-queries.ts";
import { toTraceStats } from "./run-stats.ts";
import type { RunSeries, SeriesBucket, Stride } from "./series-schema.ts";

const SECONDS = { SECOND: 1, MINUTE: 60, HOUR: 3600, DAY: 86_400 };
/** Bounds the memory of an answer: a cell has three distributions. */
const MAX_CELLS = 1000;
const MAX_BUCKETS = 500;

type Input = Omit<RunsQueryRequest, "limit">;
type Grouping = { by: GroupBy; max_groups: number };
type Range = Pick<SeriesQuery, "first_us" | "stride_us"> & { end_us: number };
/** Totals by the index of the group, -1 for the rest, then by the number of the bucket. */
type SeriesTotals = Map<number, Map<number, RunTotals>>;

/** Sums runs in buckets of time, by group. With groups, a first read finds the largest, and a second one sums. */
export async function getRunSeries(
  ctx: Context,
  input: Input,
  stride: Stride,
  grouping: Grouping | null,
): Promise<RunSeries> {
  const range = rangeOf(input, stride, grouping);
  const query = { ...input, start_time: range.first_us, end_time: range.end_us - 1 };
  const groups = grouping === null ? [] : await largestGroups(ctx, query, grouping);
  const series: SeriesTotals = new Map();
  const request = { group_by: grouping?.by ?? null, groups, ...range };
  for await (const answers of queryPartitions(ctx, query, (partition, runsQuery) =>
    tracePartition(ctx.env, partition).getSeries(runsQuery, request),
  )) {
    for (const { group, bucket, totals } of answers.flat()) {
      bucketOf(series, group, bucket).merge(totals);
    }
  }
  const listed = groups.map((group, n) => toSeries(range, group, series.get(n)));
  const rest = series.get(-1);
  return {
    start_time: toIso(range.first_us),
    end_time: toIso(range.end_us),
    stride_seconds: range.stride_us / 1_000_000,
    series: [
      ...listed.map((one) => ({ ...one, is_rest: false })),
      ...(rest || grouping === null
        ? [{ ...toSeries(range, null, rest), is_rest: grouping !== null }]
        : []),
    ],
  };
}

/** Extends the range to whole buckets, so that buckets are the same from one request to the next. */
function rangeOf(
  { start_time, end_time }: Input,
  stride: Stride,
  grouping: Grouping | null,
): Range {
  if (start_time == null) throw invalid(["body", "start_time"], "is required with stride");
  const stride_us = stride.value * SECONDS[stride.unit] * 1_000_000;
  const first_us = Math.floor(start_time / stride_us) * stride_us;
  const last_us = Math.max(end_time ?? nowMicros(), start_time);
  const end_us = (Math.floor(last_us / stride_us) + 1) * stride_us;
  assertSize((end_us - first_us) / stride_us, grouping);
  return { first_us, stride_us, end_us };
}

function assertSize(buckets: number, grouping: Grouping | null): void {
  const most = grouping === null ? MAX_BUCKETS : Math.floor(MAX_CELLS / (grouping.max_groups + 1));
  if (buckets <= Math.min(most, MAX_BUCKETS)) return;
  const remedy = grouping === null ? "a longer stride" : "a longer stride or fewer max_groups";
  const rule = `makes ${buckets} buckets; at most ${Math.min(most, MAX_BUCKETS)} fit an answer: send ${remedy}, or a later start_time`;
  throw invalid(["body", "stride"], rule);
}

async function largestGroups(
  ctx: Context,
  input: Input,
  { by, max_groups }: Grouping,
): Promise<string[]> {
  const counts = new Map<string, number>();
  for await (const answers of queryPartitions(ctx, input, (partition, query) =>
    tracePartition(ctx.env, partition).countGroups(query, by),
  )) {
    for (const { group, runs } of answers.flat()) {
      counts.set(group, (counts.get(group) ?? 0) + runs);
    }
  }
  const sorted = [...counts].sort(([a, n], [b, m]) => m - n || (a < b ? -1 : 1));
  return sorted.slice(0, max_groups).map(([group]) => group);
}

function bucketOf(series: SeriesTotals, group: number, bucket: number): RunTotals {
  const buckets = series.get(group) ?? new Map<number, RunTotals>();
  series.set(group, buckets);
  const totals = buckets.get(bucket) ?? new RunTotals(SERIES_TIMES);
  buckets.set(bucket, totals);
  return totals;
}

function toSeries(
  { first_us, stride_us, end_us }: Range,
  group: string | null,
  buckets: Map<number, RunTotals> = new Map(),
) {
  const whole = new RunTotals(SERIES_TIMES);
  for (const totals of buckets.values()) whole.merge(totals.toData());
  const sorted = [...buckets].sort(([a], [b]) => a - b);
  return {
    group,
    totals: toFigures(whole, end_us - first_us),
    buckets: sorted.map(([bucket, totals]) => ({
      start_time: toIso(first_us + bucket * stride_us),
      ...toFigures(totals, stride_us),
    })),
  };
}

/** Computes figures. The mean length of the queue is the time that all runs waited, divided by `duration_us`. */
function toFigures(totals: RunTotals, duration_us: number): Omit<SeriesBucket, "start_time"> {
  const stats = toTraceStats(totals, []);
  const wait = totals.quantile("queue_wait", 0.5);
  return {
    run_count: stats.run_count,
    error_count: totals.errors,
    error_rate: stats.error_rate,
    latency_p50: stats.latency_p50,
    latency_p99: stats.latency_p99,
    first_token_p50: stats.first_token_p50,
    first_token_p99: stats.first_token_p99,
    queue_wait_p50: secondsOf(wait),
    queue_wait_p99: secondsOf(totals.quantile("queue_wait", 0.99)),
    queue_length: wait === null ? null : totals.sum("queue_wait") / duration_us,
    total_tokens: stats.total_tokens,
    prompt_tokens: stats.prompt_tokens,
    completion_tokens: stats.completion_tokens,
    total_cost: stats.total_cost,
  };
}

function secondsOf(micros: number | null): number | null {
  return micros === null ? null : micros / 1_000_000;
}
