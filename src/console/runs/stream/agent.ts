import type { z } from "zod";
import type { ThreadState } from "../../../agent-server/threads/api/state/state-schema.ts";
import type { Run } from "../../../agent-server/threads/contract/requests/run-schema.ts";
import type { FoundThread } from "../../../agent-server/threads/contract/requests/thread-schema.ts";
import { apiPath, type PathTag, under } from "../../api/path.ts";

export type RunItem = z.infer<typeof Run>;
export type ThreadItem = z.infer<typeof FoundThread>;
export type StateItem = z.infer<typeof ThreadState>;

/**
 * Builds paths of the API of an agent.
 * @param deployment the id of a deployment, or `{deployment_id}@{revision_id}` for one revision
 */
export function agentPath(deployment: string): PathTag {
  return under(apiPath`/agents/${deployment}`);
}

export function threadPath(deployment: string, thread_id: string): PathTag {
  return under(agentPath(deployment)`/threads/${thread_id}`);
}

/** Stream options of runs that pages start: pages draw the state, the tokens, and the starts and ends of nodes. */
export const STREAMED = {
  stream_mode: ["values", "updates", "messages-tuple", "tasks"],
  stream_subgraphs: true,
  stream_resumable: true,
};
