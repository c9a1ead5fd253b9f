import { sendAllOrLeave } from "../shared/work/queue.ts";

export type ProjectDeletionMessage = { type: "project_deletion"; project_id: string };

export function sendProjectDeletions(env: Env, ids: readonly string[]): Promise<void> {
  const messages = ids.map((project_id) => ({ type: "project_deletion", project_id }) as const);
  return sendAllOrLeave<ProjectDeletionMessage>(env.DELETIONS, messages);
}
