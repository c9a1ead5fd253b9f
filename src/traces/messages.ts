import { sendAllOrLeave } from "../shared/work/queue.ts";
import type { PartitionKey } from "./changes.ts";

/**
 * `sent_at` is that of the project's row when the message was sent. A message is stale once the row has another value.
 * Messages of earlier versions lack the field, and are not stale.
 */
export type ProjectDeletionMessage = {
  type: "project_deletion";
  project_id: string;
  sent_at?: string | null;
};

/** Names a partition that may have expired traces. */
export type TraceExpiryMessage = { type: "trace_expiry" } & PartitionKey;

export function sendTraceExpiries(env: Env, keys: readonly PartitionKey[]): Promise<void> {
  const messages = keys.map((key) => ({ type: "trace_expiry", ...key }) as const);
  return sendAllOrLeave<TraceExpiryMessage>(env.DELETIONS, messages);
}

export function sendProjectDeletions(
  env: Env,
  rows: readonly { id: string; sent_at: string | null }[],
): Promise<void> {
  const messages = rows.map(
    ({ id, sent_at }) => ({ type: "project_deletion", project_id: id, sent_at }) as const,
  );
  return sendAllOrLeave<ProjectDeletionMessage>(env.DELETIONS, messages);
}
