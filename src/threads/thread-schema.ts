import { z } from "@hono/zod-openapi";
import { list, optional, Timestamp, Uuid } from "../shared/schema.ts";
import { toSteps } from "./extract.ts";
import { Command, Loose, Metadata, Thread, ThreadStatus } from "./schema.ts";
import { MAX_TTL_MINUTES, TTL_STRATEGIES } from "./ttl.ts";

const Minutes = z.number().positive().max(MAX_TTL_MINUTES);

/** Minutes, or minutes and what is done then. */
const Ttl = z
  .union([Minutes, z.object({ ttl: Minutes, strategy: optional(z.enum(TTL_STRATEGIES)) })])
  .nullish()
  .transform((given) => {
    if (given === null || given === undefined) return undefined;
    const { ttl, strategy } = typeof given === "number" ? { ttl: given } : given;
    return { ttl_minutes: ttl, strategy: strategy ?? ("delete" as const) };
  });

const StateWrite = z.object({
  values: z.unknown().optional(),
  command: Command.nullish(),
  as_node: z.string().nullish(),
});
export type StateWrite = z.infer<typeof StateWrite>;

const Superstep = z.object({ updates: list(StateWrite) });

export const ThreadCreate = z
  .object({
    thread_id: optional(Uuid),
    metadata: Metadata.nullish().transform((metadata) => metadata ?? {}),
    if_exists: z
      .enum(["raise", "do_nothing"])
      .nullish()
      .transform((choice) => choice ?? "raise"),
    ttl: Ttl,
    supersteps: optional(list(Superstep)),
  })
  .openapi("ThreadCreate");
export type ThreadCreate = z.infer<typeof ThreadCreate>;

export const ThreadPatch = z
  .object({
    metadata: Metadata.nullish().transform((metadata) => metadata ?? {}),
    ttl: Ttl,
  })
  .openapi("ThreadPatch");
export type ThreadPatch = z.infer<typeof ThreadPatch>;

export const ThreadWithTtl = Thread.extend({
  ttl: z
    .object({
      strategy: z.enum(TTL_STRATEGIES),
      ttl_minutes: z.number(),
      expires_at: Timestamp,
    })
    .nullable()
    .optional(),
}).openapi("ThreadWithTtl");

const ThreadFilter = z.object({
  metadata: optional(Metadata),
  values: optional(Loose),
  status: optional(ThreadStatus),
  ids: optional(list(Uuid)),
});

const SORTED_BY = ["thread_id", "status", "created_at", "updated_at", "state_updated_at"] as const;

const THREAD_FIELDS = Object.keys(Thread.shape) as [keyof Thread, ...(keyof Thread)[]];

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
  limit: z.number().int().min(1).max(1000).default(10),
  offset: z.number().int().min(0).default(0),
  sort_by: optional(z.enum(SORTED_BY)),
  sort_order: optional(z.enum(["asc", "desc"])),
  // `context` is a field of the published clients that no thread has.
  select: optional(list(z.enum([...THREAD_FIELDS, "context"]))),
  extract: optional(Extract),
}).openapi("ThreadSearch");
export type ThreadSearch = z.infer<typeof ThreadSearch>;

export const FoundThread = Thread.partial()
  .extend({ extracted: Loose.optional() })
  .openapi("FoundThread");

export const ThreadCount = ThreadFilter.openapi("ThreadCount");
export type ThreadCount = z.infer<typeof ThreadCount>;

export const ThreadPrune = z
  .object({
    thread_ids: list(Uuid),
    strategy: optional(z.enum(TTL_STRATEGIES)),
  })
  .openapi("ThreadPrune");
export type ThreadPrune = z.infer<typeof ThreadPrune>;

export const ThreadsPruned = z.object({ pruned_count: z.number().int() }).openapi("ThreadsPruned");

const Names = z.union([z.string(), z.array(z.string())]).optional();

/** `include=ttl`, once, repeated, or with commas. */
export const ThreadQuery = z.object({ include: Names });

/** `stream_modes` in the documents of the API, `stream_mode` in its clients. */
export const ThreadStreamQuery = z.object({ stream_mode: Names, stream_modes: Names });

export const ThreadStreamHeaders = z.object({
  "last-event-id": z
    .string()
    .regex(/^(-|-?\d+)?$/, "must be the id of an event, or - for all of them")
    .optional(),
});

export const ThreadPatchHeaders = z.object({ prefer: z.string().optional() });
