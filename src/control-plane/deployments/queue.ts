import { carries } from "../../shared/work/queue.ts";

type BuildMessage = { revision_id: string };
export type DeletionMessage = { deployment_id: string };

export function isBuildMessage(body: unknown): body is BuildMessage {
  return carries(body, "revision_id");
}

export function isDeletionMessage(body: unknown): body is DeletionMessage {
  return carries(body, "deployment_id");
}
