import { z } from "@hono/zod-openapi";
import { Timestamp } from "../../shared/schema.ts";
import { FeedbackStats } from "../aggregates/feedback-schema.ts";

const Seconds = z.number().nullable();
/** Exact decimal as text. */
const Cost = z.string().nullable();

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
