import type { z } from "zod";
import type { FoundThread } from "../../../agent-server/threads/directory/thread-schema.ts";
import type { Run } from "../../../agent-server/threads/run-schema.ts";
import type { ThreadState } from "../../../agent-server/threads/state/state-schema.ts";

export type RunItem = z.infer<typeof Run>;
export type ThreadItem = z.infer<typeof FoundThread>;
export type StateItem = z.infer<typeof ThreadState>;

/** An agent's API: a deployment, with `@` and a revision for one revision. */
export function agentPath(deployment: string, rest: string): string {
  return `/agents/${deployment}${rest}`;
}

export function threadPath(deployment: string, thread_id: string, rest = ""): string {
  return agentPath(deployment, `/threads/${thread_id}${rest}`);
}

/** The modes that the pages draw: state, tokens, and starts and ends of nodes. */
export const STREAMED = {
  stream_mode: ["values", "updates", "messages-tuple", "tasks"],
  stream_subgraphs: true,
  stream_resumable: true,
};
