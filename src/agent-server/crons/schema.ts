import { z } from "@hono/zod-openapi";
import {
  AnyObject,
  CreatedAt,
  list,
  namedObject,
  pageOfBody,
  Timestamp,
  textField,
  UpdatedAt,
  Uuid,
} from "../../shared/schema.ts";
import {
  MultitaskStrategy,
  RunCreate,
  RunStatus,
  StreamMode,
} from "../threads/contract/requests/run-schema.ts";
import { AgentPath, RunConfig } from "../threads/contract/requests/schema.ts";

const OnRunCompleted = z.enum(["delete", "keep"]);
const EndTime = z
  .string()
  .refine(
    (text) => !Number.isNaN(Date.parse(text)),
    "must be a date and time such as 2026-12-31T00:00:00Z",
  )
  .openapi({ format: "date-time" });

export const Cron = namedObject("Cron", {
  cron_id: Uuid.describe("Id of the cron"),
  assistant_id: Uuid.nullable().describe("Id of the assistant"),
  thread_id: Uuid.nullable().describe("Id of the thread, `null` when each run gets a new thread"),
  schedule: textField("Cron expression: minute, hour, day, month, weekday", "0 9 * * 1-5"),
  timezone: z.string().nullable().describe("IANA time zone, `null` for UTC"),
  end_time: Timestamp.nullable().describe("Time after which the cron starts no runs"),
  created_at: CreatedAt,
  updated_at: UpdatedAt,
  user_id: z
    .string()
    .nullable()
    .describe(
      "Id of the user that changed it last, whose rights its runs have. `null` for a service key",
    ),
  payload: AnyObject.describe("Input and options of its runs"),
  next_run_date: Timestamp.nullable().describe("Time of the next run, `null` when there is none"),
  metadata: AnyObject.describe("Metadata, which searches find"),
  enabled: z.boolean().describe("Whether the cron starts runs"),
  on_run_completed: OnRunCompleted.describe(
    "Whether to keep or delete the thread of a run that ended",
  ),
});
export type Cron = z.infer<typeof Cron>;

const WHEN = {
  schedule: z.string().max(200).openapi({
    description: "Cron expression: minute, hour, day, month, weekday",
    example: "0 9 * * 1-5",
  }),
  timezone: z.string().max(100).nullish().describe("IANA time zone. `null`: UTC"),
  end_time: EndTime.nullish().describe("Time after which the cron starts no runs"),
  enabled: z.boolean().nullish().describe("Whether the cron starts runs"),
  on_run_completed: OnRunCompleted.nullish().describe(
    "Whether to keep or delete the thread of a run that ended",
  ),
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
    config: RunConfig.nullish().describe("Configuration of the runs"),
    schedule: WHEN.schedule.nullish().openapi({
      description: "Cron expression: minute, hour, day, month, weekday",
      example: "0 9 * * 1-5",
    }),
    multitask_strategy: MultitaskStrategy.nullish().describe("What to do while the thread is busy"),
    stream_mode: z
      .union([StreamMode, list(StreamMode)])
      .nullish()
      .describe("Stream modes of the runs"),
  })
  .openapi("CronPatch");
export type CronPatch = z.infer<typeof CronPatch>;

export const CronCount = namedObject("CronCount", {
  assistant_id: z.string().nullish().describe("Id of the assistant"),
  thread_id: Uuid.nullish().describe("Id of the thread"),
  enabled: z.boolean().nullish().describe("Whether the cron starts runs"),
  metadata: AnyObject.nullish().describe("Metadata that crons must have, with equal values"),
});
export type CronCount = z.infer<typeof CronCount>;

const CRON_SORTS = [
  "cron_id",
  "assistant_id",
  "thread_id",
  "created_at",
  "updated_at",
  "next_run_date",
  "end_time",
] as const;
export type CronSort = (typeof CRON_SORTS)[number];

const CronField = z.enum([...Cron.keyof().options, "now"]);

export const CronSearch = CronCount.extend({
  ...pageOfBody("crons", { max: 1000, standard: 10 }),
  sort_by: z.enum(CRON_SORTS).nullish().describe("Field to sort by"),
  sort_order: z.enum(["asc", "desc"]).nullish().describe("Order of the sort field"),
  select: list(CronField).nullish().describe("Fields to return. Default: all"),
}).openapi("CronSearch");
export type CronSearch = z.infer<typeof CronSearch>;

/** A cron of a search, which has only the fields of `select` when that is given. */
export const FoundCron = Cron.partial()
  .extend({ now: Timestamp.optional().describe("Current time of the server, when selected") })
  .openapi("FoundCron");
export type FoundCron = z.infer<typeof FoundCron>;

export const CronPath = AgentPath.extend({ cron_id: Uuid.describe("Id of the cron") });

export const CronFiring = namedObject("CronFiring", {
  scheduled_at: Timestamp.describe("Time of the schedule, or of the request when `is_manual`"),
  fired_at: Timestamp.describe("Time of the last attempt"),
  is_manual: z.boolean().describe("Whether a caller started it, not the schedule"),
  outcome: z
    .enum(["started", "skipped", "waiting", "refused", "ended"])
    .describe(
      "`waiting` is tried again, `skipped` is not. `refused` disables the cron, `ended` deletes it",
    ),
  run_id: Uuid.nullable().describe("Id of the run, `null` when none was started"),
  thread_id: Uuid.nullable().describe("Id of the thread of the run"),
  run_status: RunStatus.nullable().describe(
    "Status of the run now, `null` when none was started or it was deleted",
  ),
  message: z.string().nullable().describe("Reason why no run was started"),
});
export type CronFiring = z.infer<typeof CronFiring>;
