import { z } from "@hono/zod-openapi";
import { Timestamp } from "../../shared/schema.ts";
import { RunsQueryRequest } from "../query/query-schema.ts";

const DEFAULT_GROUPS = 5;
const MAX_GROUPS = 100;

const GroupBy = z
  .object({
    attribute: z.enum(["name", "run_type", "tag", "metadata"]).describe("Attribute to group by"),
    path: z.string().nullish().describe("Key of the metadata, for the attribute `metadata`"),
    max_groups: z
      .number()
      .int()
      .min(1)
      .max(MAX_GROUPS)
      .default(DEFAULT_GROUPS)
      .describe("Maximum number of groups"),
  })
  .refine(({ attribute, path }) => attribute !== "metadata" || Boolean(path), {
    path: ["path"],
    error: 'required with attribute "metadata": the key of the metadata',
  });

export const RunStatsRequest = RunsQueryRequest.omit({
  cursor: true,
  limit: true,
  order: true,
})
  .extend({
    group_by: GroupBy.nullish().describe("Returns statistics for each group. Default: one set"),
  })
  .openapi("RunStatsQuery");
export type RunStatsRequest = z.infer<typeof RunStatsRequest>;

const Seconds = z.number().nullable();
const Tokens = z.number().nullable();
/** Exact decimal as text. */
const Cost = z.string().nullable();

const FeedbackStats = z.record(
  z.string(),
  z.object({
    n: z.number().int().describe("Number of scores and values"),
    avg: z.number().nullable().describe("Average score, `null` without scores"),
    values: z.record(z.string(), z.number().int()).describe("Number of times each value was given"),
  }),
);

/** Statistics of runs and of projects. */
export const TraceStats = z.object({
  run_count: z.number().int().describe("Number of runs"),
  latency_p50: Seconds.describe("Median duration in seconds"),
  latency_p99: Seconds.describe("99th percentile of the duration in seconds"),
  first_token_p50: Seconds.describe("Median time to the first token in seconds"),
  first_token_p99: Seconds.describe("99th percentile of the time to the first token in seconds"),
  total_tokens: z.number().int().describe("Number of tokens"),
  prompt_tokens: z.number().int().describe("Number of prompt tokens"),
  completion_tokens: z.number().int().describe("Number of completion tokens"),
  total_cost: Cost.describe("Cost in US dollars, an exact decimal as text"),
  prompt_cost: Cost.describe("Cost of the prompt tokens in US dollars"),
  completion_cost: Cost.describe("Cost of the completion tokens in US dollars"),
  error_rate: z.number().nullable().describe("Share of runs that failed, 0 to 1"),
  streaming_rate: z.number().nullable().describe("Share of runs that streamed tokens, 0 to 1"),
  last_run_start_time: Timestamp.nullable().describe(
    "Start time of the newest run, `null` when there is none",
  ),
  feedback_stats: FeedbackStats.describe("Feedback by key"),
});
export type TraceStats = z.infer<typeof TraceStats>;

export const RunStats = TraceStats.extend({
  median_tokens: Tokens.describe("Median number of tokens"),
  prompt_tokens_p50: Tokens.describe("Median number of prompt tokens"),
  completion_tokens_p50: Tokens.describe("Median number of completion tokens"),
  tokens_p99: Tokens.describe("99th percentile of the number of tokens"),
  prompt_tokens_p99: Tokens.describe("99th percentile of the number of prompt tokens"),
  completion_tokens_p99: Tokens.describe("99th percentile of the number of completion tokens"),
  cost_p50: Cost.describe("Median cost in US dollars"),
  cost_p99: Cost.describe("99th percentile of the cost in US dollars"),
  run_facets: z
    .array(
      z.object({
        key: z.string().openapi({ description: "Attribute", example: "name" }),
        value: z.string().openapi({ description: "Value", example: "agent" }),
        query: z
          .string()
          .openapi({ description: "Filter that matches the value", example: 'eq(name, "agent")' }),
        n: z.number().int().describe("Number of runs"),
      }),
    )
    .describe("Most frequent values, with filters that match them"),
}).openapi("RunStats", {
  description:
    "Counts and sums are exact. Percentiles are exact for up to 200 runs, and at most half a per cent off for more",
});
export type RunStats = z.infer<typeof RunStats>;

/** Statistics of one set of runs, or by group with `group_by`. */
export const RunStatsAnswer = z.union([
  RunStats.partial(),
  z.record(z.string(), RunStats.partial()),
]);
export type RunStatsAnswer = z.infer<typeof RunStatsAnswer>;
