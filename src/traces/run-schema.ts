import { z } from "@hono/zod-openapi";
import { Timestamp } from "../shared/schema.ts";

const Loose = z.record(z.string(), z.unknown());
const Tokens = z.number().int().nullable();
/** An exact decimal as text. */
const Cost = z.string().nullable();

const FeedbackStat = z.object({
  n: z.number().int(),
  avg: z.number().nullable(),
  values: z.record(z.string(), z.number().int()),
});

export const TraceRun = z
  .object({
    id: z.string(),
    trace_id: z.string(),
    session_id: z.string(),
    parent_run_id: z.string().nullable(),
    parent_run_ids: z.array(z.string()),
    child_run_ids: z.array(z.string()).nullable(),
    direct_child_run_ids: z.array(z.string()).nullable(),
    dotted_order: z.string().nullable(),
    name: z.string(),
    run_type: z.string(),
    status: z.enum(["pending", "success", "error"]),
    is_root: z.boolean(),
    start_time: Timestamp,
    end_time: Timestamp.nullable(),
    latency: z.number().nullable(),
    first_token_time: Timestamp.nullable(),
    error: z.string().nullable(),
    inputs: z.unknown(),
    outputs: z.unknown(),
    extra: Loose.nullable(),
    events: z.array(z.unknown()).nullable(),
    serialized: z.unknown(),
    tags: z.array(z.string()).nullable(),
    thread_id: z.string().nullable(),
    reference_example_id: z.string().nullable(),
    execution_order: z.number().int().nullable(),
    trace_tier: z.string().nullable(),
    total_tokens: Tokens,
    prompt_tokens: Tokens,
    completion_tokens: Tokens,
    total_cost: Cost,
    prompt_cost: Cost,
    completion_cost: Cost,
    feedback_stats: z.record(z.string(), FeedbackStat),
    attachments: z.record(
      z.string(),
      z.object({ content_type: z.string(), bytes: z.number().int(), url: z.string() }),
    ),
    app_path: z.string(),
    in_dataset: z.boolean(),
  })
  .openapi("TraceRun");
export type TraceRun = z.infer<typeof TraceRun>;
