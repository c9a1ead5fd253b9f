import { z } from "@hono/zod-openapi";
import { caseless, list, QueryBoolean, queryLimit, Uuid } from "../../../../shared/schema.ts";
import { CheckpointName } from "../../contract/requests/checkpoint-schema.ts";
import { RUN_STATUSES } from "../../contract/requests/run-schema.ts";

export const RunQuery = z.strictObject({
  limit: queryLimit("runs", 1000, 10),
  offset: z.coerce.number().int().min(0).default(0).describe("Number of items to skip"),
  status: caseless(RUN_STATUSES).optional().describe("Status of the runs, in any case"),
  select: z
    .union([z.string(), z.array(z.string())])
    .optional()
    .describe("Fields to return. Default: all"),
});

const CancelAction = z.enum(["interrupt", "rollback"]).default("interrupt");

export const CancelQuery = z
  .object({
    wait: QueryBoolean.default(false).describe("Whether to wait until the run has ended"),
    action: CancelAction.describe(
      "`interrupt` keeps the checkpoints of the run, `rollback` deletes the run and its checkpoints",
    ),
    reason: z
      .string()
      .max(1000)
      .optional()
      .describe("Reason to store with the run. Excludes `rollback`"),
  })
  .refine(({ action, reason }) => reason === undefined || action === "interrupt", {
    message: "must be absent with action=rollback",
    path: ["reason"],
  });

export const CancelRuns = z
  .object({
    thread_id: Uuid.nullish().describe("Id of the thread"),
    run_ids: list(Uuid).nullish().describe("Ids of the runs"),
    status: caseless(["pending", "running", "all"])
      .nullish()
      .describe("Cancels all runs of this status"),
  })
  .refine(({ run_ids, status }) => Boolean(run_ids?.length) || Boolean(status), {
    message: "required, unless status is set",
    path: ["run_ids"],
  })
  .openapi("CancelRuns");

export type CancelRuns = z.infer<typeof CancelRuns>;

export const CancelRunsQuery = z.object({
  action: CancelAction.describe(
    "`interrupt` keeps the checkpoints of the run, `rollback` deletes the run and its checkpoints",
  ),
});

export const JoinQuery = z.object({
  cancel_on_disconnect: QueryBoolean.default(false).describe(
    "Whether to cancel the run when the client disconnects",
  ),
});

/** Once, repeated, or one JSON list. */
const Namespaces = z.union([z.string(), z.array(z.string())]).optional();

export const StreamQuery = z.object({
  namespace: Namespaces.describe(
    "Namespaces of subgraphs to stream: one, repeated, or a JSON list",
  ),
});

export const FollowQuery = JoinQuery.extend({
  stream_mode: z
    .union([z.string(), z.array(z.string())])
    .optional()
    .describe("Stream modes to return. Default: those of the run"),
  namespace: Namespaces.describe(
    "Namespaces of subgraphs to stream: one, repeated, or a JSON list",
  ),
  checkpoint_id: CheckpointName.optional().describe(
    "Only events after this checkpoint, where the run streams `checkpoints` or `debug`; otherwise all.",
  ),
});

export const FollowHeaders = z.object({
  "last-event-id": z
    .string()
    .regex(/^(-?\d+)?$/, "must be the id of an event, or -1 for all events")
    .optional()
    .describe("Id of the last event received. `-1` for all events"),
});
