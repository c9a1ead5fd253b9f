import { z } from "@hono/zod-openapi";
import { list, numberOr, Timestamp, Uuid } from "../shared/schema.ts";
import {
  AgentPath,
  MultitaskStrategy,
  RunConfig,
  RunCreate,
  StreamMode,
} from "../threads/schema.ts";

const Loose = z.record(z.string(), z.unknown());
const OnRunCompleted = z.enum(["delete", "keep"]);
const EndTime = z
  .string()
  .refine(
    (text) => !Number.isNaN(Date.parse(text)),
    "must be a date and time like 2026-12-31T00:00:00Z",
  )
  .openapi({ format: "date-time" });

export const Cron = z
  .object({
    cron_id: Uuid,
    assistant_id: Uuid.nullable(),
    thread_id: Uuid.nullable(),
    schedule: z.string(),
    timezone: z.string().nullable(),
    end_time: Timestamp.nullable(),
    created_at: Timestamp,
    updated_at: Timestamp,
    user_id: z.string().nullable(),
    payload: Loose,
    next_run_date: Timestamp.nullable(),
    metadata: Loose,
    enabled: z.boolean(),
    on_run_completed: OnRunCompleted,
  })
  .openapi("Cron");
export type Cron = z.infer<typeof Cron>;

const WHEN = {
  schedule: z
    .string()
    .max(200)
    .openapi({ description: "Minute, hour, day, month, weekday", example: "0 9 * * 1-5" }),
  timezone: z
    .string()
    .max(100)
    .nullish()
    .openapi({ description: "Of the IANA database; null: UTC" }),
  end_time: EndTime.nullish(),
  enabled: z.boolean().nullish(),
  on_run_completed: OnRunCompleted.nullish(),
};

const PAYLOAD = {
  input: true,
  config: true,
  context: true,
  interrupt_before: true,
  interrupt_after: true,
  webhook: true,
  checkpoint_during: true,
  durability: true,
  stream_subgraphs: true,
  stream_resumable: true,
} as const;

export const CronCreate = RunCreate.pick({
  ...PAYLOAD,
  assistant_id: true,
  metadata: true,
  multitask_strategy: true,
  stream_mode: true,
})
  .extend(WHEN)
  .openapi("CronCreate");
export type CronCreate = z.infer<typeof CronCreate>;

export const CronPatch = RunCreate.pick({ ...PAYLOAD, metadata: true })
  .extend({
    ...WHEN,
    config: RunConfig.nullish(),
    schedule: WHEN.schedule.nullish(),
    multitask_strategy: MultitaskStrategy.nullish(),
    stream_mode: z.union([StreamMode, list(StreamMode)]).nullish(),
  })
  .openapi("CronPatch");
export type CronPatch = z.infer<typeof CronPatch>;

export const CronCount = z
  .object({
    assistant_id: z.string().nullish(),
    thread_id: Uuid.nullish(),
    enabled: z.boolean().nullish(),
    metadata: Loose.nullish(),
  })
  .openapi("CronCount");
export type CronCount = z.infer<typeof CronCount>;

const CronField = z.enum([...Cron.keyof().options, "now"]);

export const CronSearch = CronCount.extend({
  limit: numberOr(10, z.number().int().min(1).max(1000)),
  offset: numberOr(0, z.number().int().min(0)),
  sort_by: z
    .enum(["cron_id", "assistant_id", "thread_id", "created_at", "updated_at", "next_run_date"])
    .nullish(),
  sort_order: z.enum(["asc", "desc"]).nullish(),
  select: list(CronField).nullish(),
}).openapi("CronSearch");
export type CronSearch = z.infer<typeof CronSearch>;

/** With `select` these fields alone. */
export const FoundCron = Cron.partial().extend({ now: Timestamp.optional() }).openapi("FoundCron");
export type FoundCron = z.infer<typeof FoundCron>;

export const CronPath = AgentPath.extend({ cron_id: Uuid });
