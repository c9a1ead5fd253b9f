import { sendAllOrLeave } from "../shared/work/queue.ts";
import type { PartitionKey } from "./changes.ts";

export type ProjectDeletionMessage = { type: "project_deletion"; project_id: string };

/** Names a partition that has expired traces. */
export type TraceExpiryMessage = { type: "trace_expiry" } & PartitionKey;

export function sendTraceExpiries(env: Env, keys: readonly PartitionKey[]): Promise<void> {
  const messages = keys.map((key) => ({ type: "trace_expiry", ...key }) as const);
  return sendAllOrLeave<TraceExpiryMessage>(env.DELETIONS, messages);
}

export function sendProjectDeletions(env: Env, ids: readonly string[]): Promise<void> {
  const messages = ids.map((project_id) => ({ type: "project_deletion", project_id }) as const);
  return sendAllOrLeave<ProjectDeletionMessage>(env.DELETIONS, messages);
}
