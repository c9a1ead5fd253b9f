import type { Context } from "../shared/context.ts";
import { AppError, invalid } from "../shared/errors.ts";
import type { StateAnswer } from "./object.ts";
import { openAgent, threadNotFound, toRevisionRef } from "./service.ts";
import { threadObject } from "./stub.ts";

type ThreadId = { deployment_id: string; thread_id: string };
export type At = { ns: string; checkpoint_id: string | null };

// What a thread without a graph shows: exactly these fields.
const EMPTY_STATE = JSON.stringify({
  values: {},
  next: [],
  tasks: [],
  created_at: null,
  checkpoint: null,
  parent_checkpoint: null,
});

/** A ThreadState as JSON text. */
export async function getState(ctx: Context, id: ThreadId, at: At & { subgraphs: boolean }) {
  const { object, active } = await openThread(ctx, id, "read");
  return textOf(await object.getState(at, active), id.thread_id, EMPTY_STATE);
}

/** ThreadState[] as JSON text, newest first. */
export async function getHistory(
  ctx: Context,
  id: ThreadId,
  query: {
    ns: string;
    limit: number;
    before_id: string | null;
    metadata: Record<string, unknown> | null;
  },
) {
  const { object, active } = await openThread(ctx, id, "read");
  return textOf(await object.getHistory(query, active), id.thread_id, "[]");
}

/** `{checkpoint}` as JSON text. */
export async function updateState(
  ctx: Context,
  id: ThreadId,
  update: At & { values: unknown; as_node: string | null },
) {
  const { object, active } = await openThread(ctx, id, "write");
  return textOf(await object.updateState(update, active), id.thread_id, null);
}

async function openThread(
  ctx: Context,
  { deployment_id, thread_id }: ThreadId,
  scope: "read" | "write",
) {
  const agent = await openAgent(ctx, deployment_id, scope, thread_id);
  const object = threadObject(ctx.env, agent.deployment_id, thread_id);
  return { object, active: toRevisionRef(agent) };
}

function textOf(answer: StateAnswer, thread_id: string, withoutGraph: string | null): string {
  if ("missing" in answer) {
    if (answer.missing === "thread") throw threadNotFound(thread_id);
    if (answer.missing === "idle") throw new AppError("conflict", "Thread is busy");
    if (withoutGraph !== null) return withoutGraph;
    throw new AppError(
      "bad_request",
      `Thread ${thread_id} has no graph ID; run a graph on it first`,
    );
  }
  if (answer.ok) return answer.value;
  // The graph refused: what it was asked for does not fit it.
  throw invalid(["body"], `${answer.error.error}: ${answer.error.message}`, "graph_error");
}
