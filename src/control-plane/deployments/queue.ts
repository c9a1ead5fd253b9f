import { sendAllOrLeave } from "../../shared/work/queue.ts";

export type BuildMessage = { type: "build"; revision_id: string };
/** `updated_at` of the row when it was sent: another value makes it stale. Messages before the field lack it. */
export type DeletionMessage = {
  type: "deployment_deletion";
  deployment_id: string;
  updated_at?: string;
};

export function sendBuilds(env: Env, revision_ids: readonly string[]): Promise<void> {
  const messages = revision_ids.map((revision_id) => ({ type: "build", revision_id }) as const);
  return sendAllOrLeave<BuildMessage>(env.BUILDS, messages);
}

export function sendDeletions(
  env: Env,
  rows: readonly { id: string; updated_at: string }[],
): Promise<void> {
  const messages = rows.map(
    ({ id, updated_at }) =>
      ({ type: "deployment_deletion", deployment_id: id, updated_at }) as const,
  );
  return sendAllOrLeave<DeletionMessage>(env.DELETIONS, messages);
}
