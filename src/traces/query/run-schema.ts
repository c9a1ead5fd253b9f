import { z } from "@hono/zod-openapi";
import { AnyObject, namedObject, Timestamp, textField } from "../../shared/schema.ts";
import { FeedbackStats } from "../aggregates/feedback-schema.ts";

const Tokens = z.number().int().nullable();
/** Exact decimal as text. */
const Cost = z.string().nullable();
const Preview = z.string().nullable().optional();

export const TraceRun = namedObject("TraceRun", {
  id: textField("Id of the run", "019a2b3c-4d5e-7f60-8a1b-2c3d4e5f6071"),
  trace_id: textField("Id of the trace", "019a2b3c-4d5e-7f60-8a1b-2c3d4e5f6071"),
  session_id: textField("Id of the project", "019a2b3c-0000-7000-8000-000000000004"),
  parent_run_id: z.string().nullable().describe("Id of the parent run, `null` for a root run"),
  parent_run_ids: z
    .array(z.string())
    .openapi({ description: "Ids of the runs above it, the root run first", example: [] }),
  child_run_ids: z
    .array(z.string())
    .nullable()
    .describe("Ids of all runs below it, `null` in lists"),
  direct_child_run_ids: z
    .array(z.string())
    .nullable()
    .describe("Ids of its direct children, `null` in lists"),
  dotted_order: z
    .string()
    .nullable()
    .describe(
      "Start times and ids from the root run, `null` while a run above is missing, or when it is too deep",
    ),
  name: textField("Name of the run", "agent"),
  run_type: textField("Type of the run", "chain"),
  status: z.enum(["pending", "success", "error"]).describe("Status of the run"),
  is_root: z.boolean().describe("Whether it is the root run of its trace"),
  start_time: Timestamp.describe("Time at which it started"),
  end_time: Timestamp.nullable().describe("Time at which it ended, `null` while it runs"),
  latency: z.number().nullable().describe("Duration in seconds, `null` while it runs"),
  first_token_time: Timestamp.nullable().describe("Time of the first token"),
  error: z.string().nullable().describe("Error, `null` when it did not fail"),
  inputs: z.unknown().describe("Inputs"),
  outputs: z.unknown().describe("Outputs"),
  inputs_preview: Preview.describe(
    "A line of the inputs, such as the last message. Only when selected; `null` over 250 KB",
  ),
  outputs_preview: Preview.describe(
    "A line of the outputs, such as the last message. Only when selected; `null` over 250 KB",
  ),
  extra: AnyObject.nullable().describe("Metadata, runtime and other details"),
  events: z.array(z.unknown()).nullable().describe("Events of the run"),
  serialized: z.unknown().describe("Serialized form of what ran"),
  tags: z.array(z.string()).nullable().describe("Tags"),
  thread_id: z.string().nullable().describe("Id of the thread"),
  reference_example_id: z.string().nullable().describe("Id of a dataset example"),
  execution_order: z.number().int().nullable().describe("Position among its siblings"),
  trace_tier: z.string().nullable().describe("Retention tier"),
  total_tokens: Tokens.describe("Number of tokens"),
  prompt_tokens: Tokens.describe("Number of prompt tokens"),
  completion_tokens: Tokens.describe("Number of completion tokens"),
  total_cost: Cost.describe("Cost in US dollars, an exact decimal as text"),
  prompt_cost: Cost.describe("Cost of the prompt tokens in US dollars"),
  completion_cost: Cost.describe("Cost of the completion tokens in US dollars"),
  feedback_stats: FeedbackStats.describe("Feedback by key"),
  files: z
    .record(
      z.string(),
      z.object({
        content_type: textField("Media type", "image/png"),
        bytes: z.number().int().describe("Size"),
        url: textField(
          "Path to download it from",
          "/api/v1/runs/019a2b3c-4d5e-7f60-8a1b-2c3d4e5f6071/attachments/plot",
        ),
      }),
    )
    .describe("Attachments by name"),
  s3_urls: z
    .record(
      z.string(),
      z.object({
        presigned_url: textField(
          "URL that needs no key for an hour. Without a public origin, its path",
          "https://heddle.example/api/v1/attachments/eyJydW5faWQiOiIuLi4ifQ.k1.9f2c",
        ),
        mime_type: textField("Media type", "image/png"),
      }),
    )
    .describe("Signed URLs of the attachments, by `attachment.` and their name"),
  app_path: textField("Path of the run in a web app", ""),
  in_dataset: z.boolean().describe("Always `false`"),
});
export type TraceRun = z.infer<typeof TraceRun>;
