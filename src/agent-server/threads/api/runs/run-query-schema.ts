import { z } from "@hono/zod-openapi";
import { caseless, list, QueryBoolean, queryLimit, Uuid } from "../../../../shared/schema.ts";
import { CheckpointName } from "../../contract/requests/checkpoint-schema.ts";
import { RUN_STATUSES } from "../../contract/requests/run-schema.ts";

export const RunQuery = z.strictObject({
  limit: queryLimit("runs", 1000, 10),
  offset: z.coerce.number().int().min(0).default(0).describe("Number of items to skip"),
  status: caseless(RUN_STATUSES).optional().describe("Status of the runs, in upper or lower case"),
  select: z
    .union([z.string(), z.array(z.string())])
    .optional()
    .describe("Fields to return. Default: all"),
});

const CancelAction = z
  .enum(["interrupt", "rollback"])
  .default("interrupt")
  .describe(
    "`interrupt` keeps the checkpoints of the run, `rollback` deletes the run and its checkpoints",
  );

export const CancelQuery = z
  .object({
    wait: QueryBoolean.default(false).describe("Whether to wait until the run has ended"),
    action: CancelAction,
    reason: z
      .string()
      .max(1000)
      .optional()
      .describe("Reason to store with the run. Not with `action=rollback`"),
  })
  .refine(({ action, reason }) => reason === undefined || action === "interrupt", {
    message: "must be absent with action=rollback",
    path: ["reason"],
  });

export const CancelRuns = z
  .object({
    thread_id: Uuid.nullish().describe(
      "Id of the thread. Without it, `run_ids` are those of threadless runs, and `status` is for all threads of the deployment",
    ),
    run_ids: list(Uuid).nullish().describe("Ids of the runs. Not with `status`"),
    status: caseless(["pending", "running", "all"])
      .nullish()
      .describe("Cancels all runs of this status; `all` are pending and running ones"),
  })
  .refine(({ run_ids, status }) => Boolean(run_ids?.length) || Boolean(status), {
    message: "required, unless status is set",
    path: ["run_ids"],
  })
  .refine(({ run_ids, status }) => !(run_ids?.length && status), {
    message: "must be absent with run_ids",
    path: ["status"],
  })
  .openapi("CancelRuns");

export type CancelRuns = z.infer<typeof CancelRuns>;

export const CancelRunsQuery = z.object({ action: CancelAction });

export const JoinQuery = z.object({
  cancel_on_disconnect: QueryBoolean.default(false).describe(
    "Whether to cancel the run when the client disconnects",
  ),
});

/** Accepts one namespace, a repeated key, or one JSON list. */
const Namespaces = z
  .union([z.string(), z.array(z.string())])
  .optional()
  .describe("Namespaces of subgraphs to stream: one, repeated, or a JSON list");

export const StreamQuery = z.object({ namespace: Namespaces });

export const JoinStreamQuery = JoinQuery.extend({
  stream_mode: z
    .union([z.string(), z.array(z.string())])
    .optional()
    .describe("Stream modes to return. Default: those of the run"),
  namespace: Namespaces,
  checkpoint_id: CheckpointName.optional().describe(
    "Skips the events up to this checkpoint. No effect unless the run streams `checkpoints` or `debug`",
  ),
});

export const JoinStreamHeaders = z.object({
  "last-event-id": z
    .string()
    .regex(/^(-1|\d+)?$/, "must be the id of an event, or -1 for all events")
    .optional()
    .describe("Id of the last event received. Default, and `-1`: all events"),
});
