import { z } from "@hono/zod-openapi";
import {
  AnyObject,
  caseless,
  list,
  namedObject,
  optional,
  pageOfBody,
  Timestamp,
  Uuid,
} from "../../../../shared/schema.ts";
import { toSteps } from "../extract.ts";
import { MAX_TTL_MINUTES, TTL_STRATEGIES } from "../ttl.ts";
import { RunStatus } from "./run-schema.ts";
import { Command, Metadata, THREAD_STATUSES, Thread } from "./schema.ts";

const Minutes = z.number().positive().max(MAX_TTL_MINUTES);

/** Minutes, or minutes and a strategy. */
const Ttl = z
  .union([
    Minutes,
    z.object({
      ttl: Minutes.describe("Minutes until the thread expires"),
      strategy: optional(z.enum(TTL_STRATEGIES)).describe(
        "What to do with expired threads: delete all, or keep the latest state",
      ),
    }),
  ])
  .nullish()
  .transform((given) => {
    if (given === null || given === undefined) return undefined;
    const { ttl, strategy } = typeof given === "number" ? { ttl: given } : given;
    return { ttl_minutes: ttl, strategy: strategy ?? ("delete" as const) };
  });

const StateWrite = z.object({
  values: z.unknown().optional().describe("Values to write"),
  command: Command.nullish().describe("Command to write"),
  as_node: z.string().nullish().describe("Node that the values are written as"),
});
export type StateWrite = z.infer<typeof StateWrite>;

const Superstep = z.object({ updates: list(StateWrite).describe("Writes of the step") });

export const ThreadCreate = namedObject("ThreadCreate", {
  thread_id: optional(Uuid).describe("Id of the thread. Default: a new id"),
  metadata: Metadata.nullish()
    .transform((metadata) => metadata ?? {})
    .openapi({ description: "Metadata", example: { customer: "acme" } }),
  if_exists: z
    .enum(["raise", "do_nothing"])
    .nullish()
    .transform((choice) => choice ?? "raise")
    .describe("What to do when the thread exists"),
  ttl: Ttl.describe("Retention: minutes, or minutes and a strategy"),
  supersteps: optional(list(Superstep)).describe("Steps that create the initial state"),
});
export type ThreadCreate = z.infer<typeof ThreadCreate>;

export const ThreadPatch = namedObject("ThreadPatch", {
  metadata: Metadata.nullish()
    .transform((metadata) => metadata ?? {})
    .openapi({ description: "Metadata", example: { customer: "acme" } }),
  ttl: Ttl.describe("Retention: minutes, or minutes and a strategy"),
});
export type ThreadPatch = z.infer<typeof ThreadPatch>;

export const ThreadWithTtl = Thread.extend({
  ttl: z
    .object({
      strategy: z
        .enum(TTL_STRATEGIES)
        .describe("What to do with expired threads: delete all, or keep the latest state"),
      ttl_minutes: z.number().describe("Minutes until the thread expires"),
      expires_at: Timestamp.describe("Time at which the thread expires"),
    })
    .nullable()
    .optional()
    .describe("Retention, `null` when the thread does not expire"),
}).openapi("ThreadWithTtl");

const ThreadFilter = z.object({
  metadata: optional(Metadata).describe("Metadata that threads contain"),
  without_metadata: optional(list(z.string()))
    .describe("Keys that the metadata of threads does not contain")
    .openapi({ example: ["cron_id"] }),
  values: optional(AnyObject).describe("State values that threads contain"),
  status: optional(caseless(THREAD_STATUSES)).describe(
    "Status of the threads, in upper or lower case",
  ),
  ids: optional(list(Uuid)).describe("Ids of the threads"),
});

const SORTED_BY = ["thread_id", "status", "created_at", "updated_at", "state_updated_at"] as const;

const THREAD_FIELDS = Object.keys(Thread.shape) as [keyof Thread, ...(keyof Thread)[]];

const MAX_RECENT = 100;
const MAX_EXTRACTED = 10;
const Extract = z
  .record(
    z.string(),
    z
      .string()
      .refine((path) => toSteps(path) !== null, "must be a path: values.messages[-1].content"),
  )
  .refine(
    (paths) => Object.keys(paths).length <= MAX_EXTRACTED,
    `must have at most ${MAX_EXTRACTED} paths`,
  );

export const ThreadSearch = ThreadFilter.extend({
  ...pageOfBody("threads", { max: 1000, standard: 10 }),
  sort_by: optional(z.enum(SORTED_BY)).describe("Field to sort by"),
  sort_order: optional(z.enum(["asc", "desc"])).describe("Order of the sort field"),
  // Published clients may select `context`, a field that no thread has.
  select: optional(list(z.enum([...THREAD_FIELDS, "context"]))).describe(
    "Fields to return. Default: all",
  ),
  extract: optional(Extract).describe("Paths of values to return in `extracted`, by name"),
  recent_runs: optional(z.number().int().min(1).max(MAX_RECENT)).describe(
    "Number of the newest runs whose statuses are returned in `recent_runs`",
  ),
}).openapi("ThreadSearch");
export type ThreadSearch = z.infer<typeof ThreadSearch>;

export const FoundThread = Thread.partial()
  .extend({
    extracted: AnyObject.optional().describe("Values of the paths in `extract`"),
    recent_runs: z
      .array(RunStatus)
      .optional()
      .describe("Statuses of the newest runs, the oldest of them first"),
  })
  .openapi("FoundThread");

export const ThreadCount = ThreadFilter.openapi("ThreadCount");
export type ThreadCount = z.infer<typeof ThreadCount>;

const StatusCount = z.number().int();

export const ThreadStatusCounts = namedObject("ThreadStatusCounts", {
  idle: StatusCount.describe("Number of idle threads"),
  busy: StatusCount.describe("Number of threads with a running or queued run"),
  interrupted: StatusCount.describe(
    "Number of threads that stopped before the end of their graph: at an interrupt, or by a cancellation",
  ),
  error: StatusCount.describe("Number of threads whose last run failed"),
});

export const ThreadPrune = namedObject("ThreadPrune", {
  thread_ids: list(Uuid).openapi({
    description: "Ids of the threads",
    example: ["019a2b3c-4d5e-7f60-8a1b-2c3d4e5f6071"],
  }),
  strategy: optional(z.enum(TTL_STRATEGIES)).describe(
    "What to do with the threads: delete them, or keep only their latest state",
  ),
});
export type ThreadPrune = z.infer<typeof ThreadPrune>;

export const ThreadsPruned = namedObject("ThreadsPruned", {
  pruned_count: z.number().int().describe("Number of threads pruned"),
});

const Names = z.union([z.string(), z.array(z.string())]).optional();

/** `include=ttl`, once, repeated, or with commas. */
export const ThreadQuery = z.object({ include: Names.describe("`ttl` returns the retention too") });

/** LangGraph's API reference names the parameter `stream_modes`, and its clients send `stream_mode`. */
export const ThreadStreamQuery = z.object({
  stream_mode: Names.describe("Stream modes to return"),
  stream_modes: Names.describe("Stream modes to return"),
});

export const ThreadStreamHeaders = z.object({
  "last-event-id": z
    .string()
    .regex(/^(-|-?\d+)?$/, "must be the id of an event, or - for all events")
    .optional()
    .describe("Id of the last event received. `-` for all events"),
});

export const ThreadPatchHeaders = z.object({
  prefer: z.string().optional().describe("`return=minimal` returns no body"),
});
