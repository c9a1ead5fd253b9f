import { sendAllOrLeave } from "../../shared/work/queue.ts";

/** `reports` counts failed reports of the build's end to the git host, which a later message repeats. */
export type BuildMessage = { type: "build"; revision_id: string; reports?: number };
/** A message is stale when the row has another `updated_at`. Messages from before the field lack it. */
export type DeletionMessage = {
  type: "deployment_deletion";
  deployment_id: string;
  updated_at?: string;
};

export function sendBuilds(env: Env, revision_ids: readonly string[]): Promise<void> {
  const messages = revision_ids.map((revision_id) => ({ type: "build", revision_id }) as const);
  return sendAllOrLeave<BuildMessage>(env.BUILDS, messages);
}

/** Delays of repeated reports in seconds: a host may be down for hours. */
const REPORT_DELAYS_S = [30, 120, 600, 3600, 6 * 3600];

/** Sends the message of an ended build again after a delay. Does nothing after the last delay of the list. */
export async function sendReport(env: Env, revision_id: string, reports: number): Promise<void> {
  const delay_s = REPORT_DELAYS_S[reports - 1];
  if (delay_s === undefined) return;
  const message = { type: "build", revision_id, reports } as const;
  await sendAllOrLeave<BuildMessage>(env.BUILDS, [message], delay_s);
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
