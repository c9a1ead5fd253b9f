import { z } from "@hono/zod-openapi";
import { AnyUuid, namedObject, Timestamp, textField } from "../../shared/schema.ts";
import { RUN_TYPES } from "../ingest/ingest-schema.ts";

const Tokens = z.number().int().nullable();
/** Exact decimal as text. */
const Cost = z.string().nullable();

export const TraceParams = z.object({ trace_id: AnyUuid.describe("Id of the trace") });

export const TraceQuery = z.object({
  cursor: z
    .string()
    .max(16_384, "must be the cursor of an earlier answer")
    .optional()
    .describe("Cursor of an earlier answer: returns only runs that are new or changed since"),
});

export const TraceSpan = namedObject("TraceSpan", {
  id: textField("Id of the run", "019a2b3c-4d5e-7f60-8a1b-2c3d4e5f6071"),
  parent_run_id: z.string().nullable().describe("Id of the parent run, `null` for the root run"),
  dotted_order: z
    .string()
    .nullable()
    .describe(
      "Position in the trace, `null` while a run above it is missing, or when the run is too deep",
    ),
  name: textField("Name of the run", "agent"),
  run_type: textField(
    `Type of the run: ${RUN_TYPES.map((type) => type.toUpperCase()).join(", ")}`,
    "CHAIN",
  ),
  status: z.enum(["PENDING", "SUCCESS", "ERROR"]).describe("Status of the run"),
  start_time: Timestamp.describe("Time at which it started"),
  end_time: Timestamp.nullable().describe("Time at which it ended, `null` while it runs"),
  first_token_time: Timestamp.nullable().describe("Time of the first token, `null` without one"),
  error: z
    .string()
    .nullable()
    .describe("First 500 characters of the error, `null` when it did not fail"),
  is_error_cut: z.boolean().describe("Whether the error is longer than `error`"),
  total_tokens: Tokens.describe("Number of tokens"),
  prompt_tokens: Tokens.describe("Number of prompt tokens"),
  completion_tokens: Tokens.describe("Number of completion tokens"),
  total_cost: Cost.describe("Cost in US dollars, an exact decimal as text"),
  prompt_cost: Cost.describe("Cost of the prompt tokens in US dollars"),
  completion_cost: Cost.describe("Cost of the completion tokens in US dollars"),
  tags: z.array(z.string()).openapi({ description: "Tags", example: ["production"] }),
});
export type TraceSpan = z.infer<typeof TraceSpan>;

export const TraceEnd = z
  .object({
    cursor: textField("Cursor that returns what changes later", "eyJ0IjoiMDE5YTJiM2MifQ"),
    run_count: z.number().int().describe("Number of runs before this line"),
    is_truncated: z
      .boolean()
      .describe(
        "Whether runs may be missing: there are more than 100,000 to return, more than 100 called traces, or more partitions that may have some than one request reads",
      ),
    project_id: z.string().nullable().openapi({
      description: "Id of the trace's project, `null` until the root run arrives",
      example: "019a2b3c-0000-7000-8000-000000000004",
    }),
    expires_at: Timestamp.nullable().describe(
      "Time from which the trace is deleted. `null` when it is kept for good, on legal hold, or until the root run arrives",
    ),
  })
  .openapi("TraceEnd", { description: "Last line. Without it the answer is incomplete" });
export type TraceEnd = z.infer<typeof TraceEnd>;

export const TraceLine = z.union([TraceSpan, TraceEnd]).openapi("TraceLine");
