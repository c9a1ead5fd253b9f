import { z } from "@hono/zod-openapi";
import {
  AnyObject,
  list,
  namedObject,
  QueryBoolean,
  Timestamp,
} from "../../../../shared/schema.ts";
import { CheckpointName } from "../../contract/requests/checkpoint-schema.ts";
import { Interrupt, Metadata } from "../../contract/requests/schema.ts";

export const ThreadState = z
  .looseObject({
    values: z.unknown().describe("Values of the state"),
    next: z.array(z.string()).openapi({ description: "Nodes that run next", example: ["agent"] }),
    tasks: z.array(AnyObject).describe("Tasks of the next step, with their interrupts and errors"),
    metadata: AnyObject.optional().describe("Metadata of the checkpoint"),
    created_at: Timestamp.nullable().describe("Time of the checkpoint, `null` when there is none"),
    checkpoint: AnyObject.nullable().describe(
      "Id and namespace of the checkpoint, `null` when there is none",
    ),
    parent_checkpoint: AnyObject.nullable().describe(
      "The previous checkpoint, `null` when there is none",
    ),
    interrupts: z.array(Interrupt).optional().describe("Pending interrupts"),
  })
  .openapi("ThreadState");

const STATE_FIELD =
  /^(values|next|tasks|checkpoint|metadata|created_at|parent_checkpoint|interrupts|values\..+)$/;

export const StateFields = list(
  z.string().regex(STATE_FIELD, "must be a field of the state, or values.<key>"),
);

export const StateQuery = z.object({
  subgraphs: QueryBoolean.default(false).describe("Whether to include the state of subgraphs"),
  select: z
    .union([z.string(), z.array(z.string())])
    .optional()
    .describe("Fields to return. Default: all"),
});

export const CheckpointBody = z.object({
  checkpoint: z
    .looseObject({
      checkpoint_id: CheckpointName.nullish().describe("Id of the checkpoint"),
      checkpoint_ns: CheckpointName.nullish().describe(
        "Namespace of the checkpoint, empty for the thread's own graph",
      ),
    })
    .describe("Checkpoint of the thread or of a subgraph"),
  subgraphs: z.boolean().nullish().describe("Whether to include the state of subgraphs"),
  select: StateFields.nullish().describe("Fields to return. Default: all"),
});

export const StateUpdate = namedObject("StateUpdate", {
  values: z.unknown().optional().describe("Values to write"),
  as_node: z.string().nullish().describe("Node that the values are written as"),
  checkpoint_id: CheckpointName.nullish().describe(
    "Id of the checkpoint that the update follows. Default: the newest",
  ),
  checkpoint: CheckpointBody.shape.checkpoint
    .nullish()
    .describe("Checkpoint of the thread or of a subgraph that the update follows"),
});

export const StatePatch = namedObject("StatePatch", {
  metadata: Metadata.nullish().transform((metadata) => metadata ?? {}),
});

export const StateUpdated = namedObject("StateUpdated", {
  checkpoint: AnyObject.openapi({
    description: "The new checkpoint",
    example: {
      thread_id: "019a2b3c-4d5e-7f60-8a1b-2c3d4e5f6071",
      checkpoint_ns: "",
      checkpoint_id: "1f0a2b3c-4d5e-6f60-8001-2c3d4e5f6071",
    },
  }),
});

const Before = z.union([
  z.string(),
  z.looseObject({
    checkpoint_id: CheckpointName.optional().describe("Id of the checkpoint"),
    configurable: z
      .looseObject({ checkpoint_id: CheckpointName.optional().describe("Id of the checkpoint") })
      .optional()
      .describe("Configuration that names the checkpoint"),
  }),
]);

export const HistoryQuery = namedObject("HistoryQuery", {
  limit: z
    .number()
    .int()
    .min(1)
    .max(1000)
    .nullish()
    .describe("Maximum number of states to return. Default: 10"),
  before: Before.nullish().describe("Checkpoint before which states are returned"),
  metadata: AnyObject.nullish().describe("Metadata that checkpoints contain"),
  checkpoint: CheckpointBody.shape.checkpoint
    .nullish()
    .describe("Selects the states of a subgraph by `checkpoint_ns`, or one state by its id"),
  select: StateFields.nullish().describe("Fields to return. Default: all"),
});
