import { sendAllOrLeave } from "../shared/work/queue.ts";
import type { PartitionKey } from "./changes.ts";

/**
 * `sent_at` is the value of the project's row when the message was sent: when the row has another value, the
 * message is stale. Messages of earlier versions lack the field.
 */
export type ProjectDeletionMessage = {
  type: "project_deletion";
  project_id: string;
  sent_at?: string | null;
};

/** Names a partition that has expired traces. */
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
