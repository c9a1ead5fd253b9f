import { sendAllOrLeave } from "../../shared/work/queue.ts";

export type BuildMessage = { type: "build"; revision_id: string };
export type DeletionMessage = { type: "deployment_deletion"; deployment_id: string };

export function sendBuilds(env: Env, revision_ids: readonly string[]): Promise<void> {
  const messages = revision_ids.map((revision_id) => ({ type: "build", revision_id }) as const);
  return sendAllOrLeave<BuildMessage>(env.BUILDS, messages);
}

export function sendDeletions(env: Env, deployment_ids: readonly string[]): Promise<void> {
  const messages = deployment_ids.map(
    (deployment_id) => ({ type: "deployment_deletion", deployment_id }) as const,
  );
  return sendAllOrLeave<DeletionMessage>(env.DELETIONS, messages);
}
