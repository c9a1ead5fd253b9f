import { z } from "@hono/zod-openapi";
import { QueryBoolean, Timestamp } from "../shared/schema.ts";
import { MAX_FEEDBACK_KEY_CHARS } from "./limits.ts";

const Id = z.guid("must be a UUID").toLowerCase();
const Score = z.union([z.number(), z.boolean()], { error: "must be a number or a boolean" });
const Source = z.looseObject({ type: z.string().max(100).nullish() });

export const FeedbackCreateRequest = z
  .looseObject({
    id: Id.nullish(),
    run_id: Id.nullish(),
    trace_id: Id.nullish(),
    session_id: Id.nullish(),
    key: z.string().min(1).max(MAX_FEEDBACK_KEY_CHARS),
    score: Score.nullish(),
    value: z.unknown().optional(),
    comment: z.string().nullish(),
    correction: z.unknown().optional(),
    feedback_source: Source.nullish(),
    feedback_config: z.unknown().optional(),
    feedback_group_id: Id.nullish(),
    comparative_experiment_id: Id.nullish(),
    created_at: z.string().nullish(),
    error: z.boolean().nullish(),
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

/** Of who was given a URL for one key of one run. */
export const FeedbackSaid = FeedbackCreateRequest.pick({
  score: true,
  value: true,
  comment: true,
  correction: true,
}).openapi("FeedbackSaid");
export type FeedbackSaid = z.infer<typeof FeedbackSaid>;

export const FeedbackSaidQuery = z.object({
  score: z.coerce.number("must be a number").optional(),
  value: z.string().optional(),
  comment: z.string().optional(),
});

export const Feedback = z
  .object({
    id: z.string(),
    run_id: z.string(),
    trace_id: z.string().nullable(),
    session_id: z.string(),
    key: z.string(),
    score: Score.nullable(),
    value: z.unknown(),
    comment: z.string().nullable(),
    correction: z.unknown(),
    feedback_source: z.looseObject({}).nullable(),
    created_at: Timestamp,
    modified_at: Timestamp,
  })
  .openapi("Feedback");
export type Feedback = z.infer<typeof Feedback>;

const Ids = z.union([Id.transform((id) => [id]), z.array(Id).max(100)]);
const Words = z.union([z.string().transform((word) => [word]), z.array(z.string()).max(100)]);

/** As rows have it, so that text compares. */
const Moment = z.iso
  .datetime({ offset: true, local: true })
  .transform((text) =>
    new Date(`${text}${/Z|[+-]\d\d:?\d\d$/.test(text) ? "" : "Z"}`).toISOString(),
  );

export const FeedbackQuery = z.object({
  run: Ids.optional(),
  session: Ids.optional(),
  key: Words.default([]),
  source: Words.default([]),
  has_comment: QueryBoolean.optional(),
  has_score: QueryBoolean.optional(),
  min_created_at: Moment.optional(),
  max_created_at: Moment.optional(),
  limit: z.coerce.number().int().min(1).max(100).default(100),
  offset: z.coerce.number().int().min(0).max(10_000).default(0),
});
export type FeedbackQuery = z.infer<typeof FeedbackQuery>;
