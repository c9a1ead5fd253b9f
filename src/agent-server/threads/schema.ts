import { z } from "@hono/zod-openapi";
import { STREAM_MODES } from "../../isolate/contract.ts";
import { isShallow, MAX_DEPTH } from "../../shared/http/depth.ts";
import { list, QueryBoolean, Timestamp, Uuid } from "../../shared/schema.ts";

export const Loose = z.record(z.string(), z.unknown());

// Kept in one row of the thread and one of the directory, each of which takes 2 MB with all it holds.
const MAX_METADATA_CHARACTERS = 128 * 1024;

export function isBounded(value: unknown): boolean {
  return isShallow(value) && JSON.stringify(value).length <= MAX_METADATA_CHARACTERS;
}

export const TOO_LARGE = `must be at most ${MAX_METADATA_CHARACTERS} characters of JSON, nested at most ${MAX_DEPTH} deep`;
export const Metadata = Loose.refine(isBounded, TOO_LARGE);

export const ThreadStatus = z.enum(["idle", "busy", "interrupted", "error"]);
export const RunStatus = z.enum([
  "pending",
  "running",
  "success",
  "error",
  "timeout",
  "interrupted",
]);
export const MultitaskStrategy = z.enum(["reject", "enqueue", "interrupt", "rollback"]);
export const StreamMode = z.enum(STREAM_MODES);

export const Interrupt = z.looseObject({ id: z.string().optional(), value: z.unknown() });

export const Thread = z
  .object({
    thread_id: Uuid,
    created_at: Timestamp,
    updated_at: Timestamp,
    state_updated_at: Timestamp.nullable(),
    metadata: Loose,
    status: ThreadStatus,
    config: Loose,
    values: z.unknown(),
    interrupts: z.record(z.string(), z.array(Interrupt)),
    error: z.object({ error: z.string(), message: z.string() }).nullable(),
  })
  .openapi("Thread");
export type Thread = z.infer<typeof Thread>;

export const Run = z
  .object({
    run_id: Uuid,
    thread_id: Uuid,
    assistant_id: Uuid,
    status: RunStatus,
    metadata: Loose,
    kwargs: Loose,
    multitask_strategy: MultitaskStrategy,
    created_at: Timestamp,
    updated_at: Timestamp,
    cancel_reason: z.string().nullable(),
  })
  .openapi("Run");

export const ThreadState = z
  .looseObject({
    values: z.unknown(),
    next: z.array(z.string()),
    tasks: z.array(Loose),
    metadata: Loose.optional(),
    created_at: Timestamp.nullable(),
    checkpoint: Loose.nullable(),
    parent_checkpoint: Loose.nullable(),
    interrupts: z.array(Interrupt).optional(),
  })
  .openapi("ThreadState");

const NodeNames = z.union([z.literal("*"), list(z.string())]);
const Send = z.object({ node: z.string(), input: z.unknown() });
const Goto = z.union([z.string(), Send]);

export const Command = z
  .object({
    resume: z.unknown().optional(),
    update: z
      .union([Loose, list(z.tuple([z.string(), z.unknown()]))])
      .nullish()
      .transform((update) => update ?? null),
    goto: z.union([Goto, list(Goto)]).nullish(),
  })
  .openapi("Command");

export const RunConfig = z
  .looseObject({
    tags: list(z.string()).optional(),
    recursion_limit: z.number().int().min(1).optional(),
    configurable: Loose.optional(),
    metadata: Loose.optional(),
  })
  .refine(isBounded, TOO_LARGE)
  .openapi("RunConfig");

// A year. What is later than any date can be would never begin.
const MAX_DELAY_SECONDS = 366 * 24 * 60 * 60;

/** Threads of their own: each is a call of an object. */
const MAX_BATCH = 100;

const MODE_DEFAULT = ["values" as const];

/** Null means absent, as published clients send it; unknown keys are ignored. */
export const RunCreate = z
  .object({
    assistant_id: z.string().min(1),
    input: z.unknown().optional(),
    command: Command.nullish(),
    config: RunConfig.nullish(),
    context: z.unknown().optional(),
    metadata: Metadata.nullish(),
    checkpoint_id: z.string().nullish(),
    checkpoint: z
      .looseObject({
        checkpoint_id: z.string().nullish(),
        checkpoint_ns: z.string().nullish(),
        checkpoint_map: Loose.nullish(),
      })
      .nullish(),
    interrupt_before: NodeNames.nullish(),
    interrupt_after: NodeNames.nullish(),
    stream_mode: z
      .union([StreamMode, list(StreamMode)])
      .nullish()
      .transform((modes) => (modes ? [modes].flat() : MODE_DEFAULT))
      .transform((modes) => (modes.length > 0 ? [...new Set(modes)] : MODE_DEFAULT)),
    stream_subgraphs: z.boolean().nullish(),
    stream_resumable: z.boolean().nullish(),
    multitask_strategy: MultitaskStrategy.nullish().transform((strategy) => strategy ?? "enqueue"),
    on_disconnect: z.enum(["cancel", "continue"]).nullish(),
    on_completion: z.enum(["delete", "keep", "complete", "continue"]).nullish(),
    if_not_exists: z.enum(["reject", "create"]).nullish(),
    after_seconds: z.number().min(0).max(MAX_DELAY_SECONDS).nullish(),
    webhook: z.string().max(2048).nullish(),
    feedback_keys: list(z.string()).nullish(),
    langsmith_tracer: z
      .object({ project_name: z.string().max(255).nullish(), example_id: Uuid.nullish() })
      .nullish(),
    durability: z.enum(["sync", "async", "exit"]).nullish(),
    checkpoint_during: z.boolean().nullish(),
    strict_resume: z.boolean().nullish(),
  })
  .openapi("RunCreate");
export type RunCreate = z.infer<typeof RunCreate>;

export const RunQuery = z.object({
  limit: z.coerce.number().int().min(1).max(1000).default(10),
  offset: z.coerce.number().int().min(0).default(0),
  status: RunStatus.optional(),
  select: z.union([z.string(), z.array(z.string())]).optional(),
});

const CancelAction = z.enum(["interrupt", "rollback"]).default("interrupt");

export const CancelQuery = z
  .object({
    wait: QueryBoolean.default(false),
    action: CancelAction,
    reason: z.string().max(1000).optional(),
  })
  .refine(({ action, reason }) => reason === undefined || action === "interrupt", {
    message: "only a run that stays has a reason: leave it out, or interrupt instead",
    path: ["reason"],
  });

export const RunBatch = list(RunCreate)
  .refine((runs) => runs.length > 0, "must have at least one run")
  .refine((runs) => runs.length <= MAX_BATCH, `must have at most ${MAX_BATCH} runs`)
  .openapi("RunBatch");

export const CancelRuns = z
  .object({
    thread_id: Uuid.nullish(),
    run_ids: list(Uuid).nullish(),
    status: z.enum(["pending", "running", "all"]).nullish(),
  })
  .refine(({ run_ids, status }) => Boolean(run_ids?.length) || Boolean(status), {
    message: "name the runs, or the status of those to cancel",
    path: ["run_ids"],
  })
  .openapi("CancelRuns");
export type CancelRuns = z.infer<typeof CancelRuns>;

export const CancelRunsQuery = z.object({ action: CancelAction });

export const JoinQuery = z.object({ cancel_on_disconnect: QueryBoolean.default(false) });

/** Once, repeated, or one JSON list. */
const Namespaces = z.union([z.string(), z.array(z.string())]).optional();

export const StreamQuery = z.object({ namespace: Namespaces });

export const FollowQuery = JoinQuery.extend({
  stream_mode: z.union([z.string(), z.array(z.string())]).optional(),
  namespace: Namespaces,
  checkpoint_id: z.string().optional().openapi({
    description:
      "Returns only events after this checkpoint. Needs the stream mode `checkpoints` or `debug`",
  }),
});

export const FollowHeaders = z.object({
  "last-event-id": z
    .string()
    .regex(/^(-?\d+)?$/, "must be the id of an event, or -1 for all of them")
    .optional(),
});

const STATE_FIELD =
  /^(values|next|tasks|checkpoint|metadata|created_at|parent_checkpoint|interrupts|values\..+)$/;
export const StateFields = list(
  z.string().regex(STATE_FIELD, "must be a field of the state, or values.<key>"),
);

export const StateQuery = z.object({
  subgraphs: QueryBoolean.default(false),
  select: Namespaces,
});

export const CheckpointBody = z.object({
  checkpoint: z.looseObject({
    checkpoint_id: z.string().nullish(),
    checkpoint_ns: z.string().nullish(),
  }),
  subgraphs: z.boolean().nullish(),
  select: StateFields.nullish(),
});

export const StateUpdate = z
  .object({
    values: z.unknown().optional(),
    as_node: z.string().nullish(),
    checkpoint_id: z.string().nullish(),
    checkpoint: CheckpointBody.shape.checkpoint.nullish(),
  })
  .openapi("StateUpdate");

export const StatePatch = z
  .object({ metadata: Metadata.nullish().transform((metadata) => metadata ?? {}) })
  .openapi("StatePatch");

export const StateUpdated = z.object({ checkpoint: Loose }).openapi("StateUpdated");

const Before = z.union([
  z.string(),
  z.looseObject({
    checkpoint_id: z.string().optional(),
    configurable: z.looseObject({ checkpoint_id: z.string().optional() }).optional(),
  }),
]);

export const HistoryQuery = z
  .object({
    limit: z.number().int().min(1).max(1000).nullish(),
    before: Before.nullish(),
    metadata: Loose.nullish(),
    checkpoint: CheckpointBody.shape.checkpoint.nullish(),
    select: StateFields.nullish(),
  })
  .openapi("HistoryQuery");

export const AgentPath = z.object({ deployment_id: z.string().min(1).toLowerCase() });
export const ThreadPath = AgentPath.extend({ thread_id: Uuid });
export const RunPath = ThreadPath.extend({ run_id: Uuid });
export const ThreadlessRunPath = AgentPath.extend({ run_id: Uuid });

/** What of a deployment goes. Runs and checkpoints are their threads' and go with them. */
export const Truncate = z.object({
  threads: z.boolean().optional(),
  runs: z.boolean().optional(),
  checkpointer: z.boolean().optional(),
  assistants: z.boolean().optional(),
  store: z.boolean().optional(),
});
export type Truncate = z.infer<typeof Truncate>;
