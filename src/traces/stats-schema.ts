import { z } from "@hono/zod-openapi";
import { Timestamp } from "../shared/schema.ts";
import { RunsQueryRequest } from "./query-schema.ts";

const DEFAULT_GROUPS = 5;
const MAX_GROUPS = 100;

const GroupBy = z
  .object({
    attribute: z.enum(["name", "run_type", "tag", "metadata"]),
    path: z.string().nullish(),
    max_groups: z.number().int().min(1).max(MAX_GROUPS).default(DEFAULT_GROUPS),
  })
  .refine(({ attribute, path }) => attribute !== "metadata" || Boolean(path), {
    path: ["path"],
    error: "names the key of the metadata to group by",
  });

export const RunStatsRequest = RunsQueryRequest.omit({
  cursor: true,
  limit: true,
  order: true,
})
  .extend({ group_by: GroupBy.nullish() })
  .openapi("RunStatsQuery");
export type RunStatsRequest = z.infer<typeof RunStatsRequest>;

const Seconds = z.number().nullable();
const Tokens = z.number().nullable();
/** An exact decimal as text. */
const Cost = z.string().nullable();

const FeedbackStats = z.record(
  z.string(),
  z.object({
    n: z.number().int(),
    avg: z.number().nullable(),
    values: z.record(z.string(), z.number().int()),
  }),
);

/** What a project says of its traces, too. */
export const TraceStats = z.object({
  run_count: z.number().int(),
  latency_p50: Seconds,
  latency_p99: Seconds,
  first_token_p50: Seconds,
  first_token_p99: Seconds,
  total_tokens: z.number().int(),
  prompt_tokens: z.number().int(),
  completion_tokens: z.number().int(),
  total_cost: Cost,
  prompt_cost: Cost,
  completion_cost: Cost,
  error_rate: z.number().nullable(),
  streaming_rate: z.number().nullable(),
  last_run_start_time: Timestamp.nullable(),
  feedback_stats: FeedbackStats,
});
export type TraceStats = z.infer<typeof TraceStats>;

export const RunStats = TraceStats.extend({
  median_tokens: Tokens,
  prompt_tokens_p50: Tokens,
  completion_tokens_p50: Tokens,
  tokens_p99: Tokens,
  prompt_tokens_p99: Tokens,
  completion_tokens_p99: Tokens,
  cost_p50: Cost,
  cost_p99: Cost,
  run_facets: z.array(
    z.object({ key: z.string(), value: z.string(), query: z.string(), n: z.number().int() }),
  ),
}).openapi("RunStats", {
  description:
    "Counts and sums are exact. Percentiles are exact for up to 200 runs, and at most half a per cent off for more",
});
export type RunStats = z.infer<typeof RunStats>;

/** Of one set of runs, or by group when the question has a group_by. */
export const RunStatsAnswer = z.union([
  RunStats.partial(),
  z.record(z.string(), RunStats.partial()),
]);
export type RunStatsAnswer = z.infer<typeof RunStatsAnswer>;
