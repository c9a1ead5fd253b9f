import { z } from "@hono/zod-openapi";
import {
  AnyUuid,
  CreatedAt,
  namedObject,
  QueryBoolean,
  queryLimit,
  Timestamp,
  textField,
} from "../../shared/schema.ts";
import { toMicros } from "../../shared/times.ts";
import { MAX_FEEDBACK_KEY_CHARS } from "../limits.ts";

const Score = z.union([z.number(), z.boolean()], { error: "must be a number or a boolean" });
const Source = z.looseObject({
  type: z
    .string()
    .max(100)
    .nullish()
    .describe("Kind of the source, for example `api`, `app` or `model`"),
});

export const FeedbackCreateRequest = z
  .looseObject({
    id: AnyUuid.nullish().describe("Id of the feedback. Default: a new id"),
    run_id: AnyUuid.nullish().describe("Id of the run"),
    trace_id: AnyUuid.nullish().describe(
      "Id of the trace, whose root run is meant without `run_id`",
    ),
    session_id: AnyUuid.nullish().describe(
      "Id of the project, needed for a run that has not arrived",
    ),
    key: z
      .string()
      .min(1)
      .max(MAX_FEEDBACK_KEY_CHARS)
      .openapi({ description: "Name of what is rated", example: "helpfulness" }),
    score: Score.nullish().describe("Score"),
    value: z.unknown().optional().describe("Value, such as the name of a category"),
    comment: z.string().nullish().describe("Comment"),
    correction: z.unknown().optional().describe("Corrected output"),
    feedback_source: Source.nullish().describe("Origin of the feedback"),
    feedback_config: z.unknown().optional().describe("Accepted, without effect"),
    feedback_group_id: AnyUuid.nullish().describe("Accepted, without effect"),
    comparative_experiment_id: AnyUuid.nullish().describe("Accepted, without effect"),
    created_at: z
      .string()
      .refine((text) => toMicros(text) !== null, "must be an ISO 8601 time")
      .nullish()
      .describe("Time of the feedback. Default: now. A repeated `id` keeps its first time"),
    extend_trace_retention: z
      .boolean()
      .nullish()
      .describe("Whether the trace becomes `longlived`. Default: true"),
    error: z.boolean().nullish().describe("Whether the evaluation failed"),
  })
  .openapi("FeedbackCreate");
export type FeedbackCreateRequest = z.infer<typeof FeedbackCreateRequest>;

export const FeedbackUpdateRequest = FeedbackCreateRequest.pick({
  score: true,
  value: true,
  comment: true,
  correction: true,
  feedback_config: true,
}).openapi("FeedbackUpdate");
export type FeedbackUpdateRequest = z.infer<typeof FeedbackUpdateRequest>;

/** Body accepted at a feedback URL. */
export const FeedbackInput = FeedbackCreateRequest.pick({
  score: true,
  value: true,
  comment: true,
  correction: true,
}).openapi("FeedbackSaid");
export type FeedbackInput = z.infer<typeof FeedbackInput>;

export const FeedbackInputQuery = z.object({
  score: z.coerce.number("must be a number").optional().describe("Score"),
  value: z.string().optional().describe("Value, such as the name of a category"),
  comment: z.string().optional().describe("Comment"),
});

export const Feedback = namedObject("Feedback", {
  id: textField("Id of the feedback", "019a2b3c-4d5e-7f60-8a1b-2c3d4e5f6071"),
  run_id: textField("Id of the run", "019a2b3c-4d5e-7f60-8a1b-2c3d4e5f6071"),
  trace_id: z.string().nullable().describe("Id of the trace"),
  session_id: textField("Id of the project", "019a2b3c-0000-7000-8000-000000000004"),
  key: textField("Name of what is rated", "helpfulness"),
  score: Score.nullable().describe("Score"),
  value: z.unknown().describe("Value, such as the name of a category"),
  comment: z.string().nullable().describe("Comment"),
  correction: z.unknown().describe("Corrected output"),
  feedback_source: z.looseObject({}).nullable().describe("Origin of the feedback"),
  created_at: CreatedAt,
  modified_at: Timestamp.describe("Time of the latest change"),
});
export type Feedback = z.infer<typeof Feedback>;

const Ids = z.union([AnyUuid.transform((id) => [id]), z.array(AnyUuid).max(100)]);
const Words = z.union([z.string().transform((word) => [word]), z.array(z.string()).max(100)]);

/** Time in the format of the column, which compares times as texts. */
const Moment = z.iso
  .datetime({ offset: true, local: true })
  .transform((text) =>
    new Date(`${text}${/Z|[+-]\d\d:?\d\d$/.test(text) ? "" : "Z"}`).toISOString(),
  );

export const FeedbackQuery = z.strictObject({
  run: Ids.optional().describe("Ids of runs"),
  session: Ids.optional().describe("Ids of projects"),
  key: Words.default([]).describe("Names of what is rated"),
  source: Words.default([]).describe("Kinds of sources"),
  has_comment: QueryBoolean.optional().describe("Whether the feedback has a comment"),
  has_score: QueryBoolean.optional().describe("Whether the feedback has a score"),
  min_created_at: Moment.optional().describe("Time of the oldest feedback"),
  max_created_at: Moment.optional().describe("Time of the newest feedback"),
  limit: queryLimit("items", 100, 100),
  offset: z.coerce.number().int().min(0).max(10_000).default(0).describe("Number of items to skip"),
});
export type FeedbackQuery = z.infer<typeof FeedbackQuery>;
