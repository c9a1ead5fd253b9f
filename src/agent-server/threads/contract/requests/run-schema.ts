import { z } from "@hono/zod-openapi";
import { STREAM_MODES } from "../../../../isolate/contract.ts";
import {
  AnyObject,
  CreatedAt,
  list,
  namedObject,
  UpdatedAt,
  Uuid,
} from "../../../../shared/schema.ts";
import { CheckpointName } from "./checkpoint-schema.ts";
import { Command, Metadata, RunConfig, RunId, StoredMetadata, ThreadId } from "./schema.ts";

export const RUN_STATUSES = [
  "pending",
  "running",
  "success",
  "error",
  "timeout",
  "interrupted",
] as const;
export const RunStatus = z.enum(RUN_STATUSES);

export const MultitaskStrategy = z.enum(["reject", "enqueue", "interrupt", "rollback"]);

export const StreamMode = z.enum(STREAM_MODES);

export const Run = namedObject("Run", {
  run_id: RunId,
  thread_id: ThreadId,
  assistant_id: Uuid.describe("Id of the assistant"),
  status: RunStatus.describe("Status of the run"),
  metadata: StoredMetadata,
  kwargs: AnyObject.describe("Input and options of the run"),
  multitask_strategy: MultitaskStrategy.describe(
    "What the creation of the run did with earlier runs of the thread in flight",
  ),
  created_at: CreatedAt,
  updated_at: UpdatedAt,
  cancel_reason: z
    .string()
    .nullable()
    .describe("Why the run was cancelled, `null` when it was not"),
});

const NodeNames = z.union([z.literal("*"), list(z.string())]);

// A year. Without a limit a start could be beyond the range of dates, and never come.
const MAX_DELAY_SECONDS = 366 * 24 * 60 * 60;

/** Limits the calls of a request: each run of a batch has its own thread. */
const MAX_BATCH = 100;

const MODE_DEFAULT = ["values" as const];

/** `null` means absent, as published clients send it. Unknown keys are ignored. */
export const RunCreate = namedObject("RunCreate", {
  assistant_id: z
    .string()
    .min(1)
    .openapi({ description: "Id of the assistant, or the name of its graph", example: "agent" }),
  input: z
    .unknown()
    .optional()
    .openapi({
      description: "Input of the graph",
      example: { messages: [{ role: "user", content: "Hello" }] },
    }),
  command: Command.nullish().describe("Resumes, updates or redirects the graph"),
  config: RunConfig.nullish().describe("Configuration of the run, over the assistant's"),
  context: z.unknown().optional().describe("Context of the run, over the assistant's"),
  metadata: Metadata.nullish(),
  checkpoint_id: CheckpointName.nullish().describe("Id of the checkpoint to start from"),
  checkpoint: z
    .looseObject({
      checkpoint_id: CheckpointName.nullish().describe("Id of the checkpoint"),
      checkpoint_ns: CheckpointName.nullish().describe(
        "Namespace of the checkpoint, empty for the thread's own graph",
      ),
      checkpoint_map: AnyObject.nullish().describe("Checkpoint ids by namespace"),
    })
    .nullish()
    .describe("Checkpoint to start from"),
  interrupt_before: NodeNames.nullish().describe("Nodes to interrupt before, or `*` for all"),
  interrupt_after: NodeNames.nullish().describe("Nodes to interrupt after, or `*` for all"),
  stream_mode: z
    .union([StreamMode, list(StreamMode)])
    .nullish()
    .transform((modes) => (modes ? [modes].flat() : MODE_DEFAULT))
    .transform((modes) => (modes.length > 0 ? [...new Set(modes)] : MODE_DEFAULT))
    .describe("Stream modes. Default: `values`"),
  stream_subgraphs: z.boolean().nullish().describe("Whether to stream events of subgraphs"),
  stream_resumable: z
    .boolean()
    .nullish()
    .describe("No effect: the events of every run are stored, for clients that reconnect"),
  multitask_strategy: MultitaskStrategy.nullish()
    .transform((strategy) => strategy ?? "enqueue")
    .describe("What to do while other runs of the thread are in flight. Default: `enqueue`"),
  on_disconnect: z
    .enum(["cancel", "continue"])
    .nullish()
    .describe("What to do when the client that streams or waits disconnects. Default: `continue`"),
  on_completion: z
    .enum(["delete", "keep", "complete", "continue"])
    .nullish()
    .describe(
      "What to do with the thread of a threadless run at its end: `keep` and `continue` keep it, others delete it. Default: `delete`",
    ),
  if_not_exists: z
    .enum(["reject", "create"])
    .nullish()
    .describe("Whether to create the thread when it does not exist. Default: `reject`"),
  after_seconds: z
    .number()
    .min(0)
    .max(MAX_DELAY_SECONDS)
    .nullish()
    .describe("Seconds to wait before the run starts"),
  webhook: z
    .string()
    .max(2048)
    .nullish()
    .describe("URL that receives the run when it ends, or a path of the agent's HTTP app"),
  feedback_keys: list(z.string()).nullish().describe("Feedback keys to create presigned URLs for"),
  langsmith_tracer: z
    .object({
      project_name: z.string().max(255).nullish().describe("Name of the tracing project"),
      example_id: Uuid.nullish().describe("Id of a dataset example"),
    })
    .nullish()
    .describe("Where to send the trace of the run"),
  durability: z
    .enum(["sync", "async", "exit"])
    .nullish()
    .describe(
      "When to write checkpoints: during the run, or with `exit` at its end. Default: `async`",
    ),
  checkpoint_during: z
    .boolean()
    .nullish()
    .describe("Use `durability` instead: `false` means `exit`"),
  strict_resume: z
    .boolean()
    .nullish()
    .describe("Whether `command.resume` fails when no interrupt is pending"),
});

export type RunCreate = z.infer<typeof RunCreate>;

export const RunBatch = list(RunCreate)
  .refine((runs) => runs.length > 0, "must have at least one run")
  .refine((runs) => runs.length <= MAX_BATCH, `must have at most ${MAX_BATCH} runs`)
  .openapi("RunBatch");
