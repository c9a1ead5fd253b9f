import type { Context } from "../shared/context.ts";
import { openAgent, toRevisionRef } from "./service.ts";
import { textOf } from "./state-answers.ts";
import { pickState } from "./state-fields.ts";
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
export async function getState(
  ctx: Context,
  id: ThreadId,
  { select, ...at }: At & { subgraphs: boolean; select: string[] },
) {
  const { object, active } = await openThread(ctx, id, "read");
  return pickState(textOf(await object.getState(at, active), id.thread_id, EMPTY_STATE), select);
}

/** ThreadState[] as JSON text, newest first. */
export async function getHistory(
  ctx: Context,
  id: ThreadId,
  {
    select,
    ...query
  }: At & {
    limit: number;
    before_id: string | null;
    metadata: Record<string, unknown> | null;
    select: string[];
  },
) {
  const { object, active } = await openThread(ctx, id, "read");
  return pickState(textOf(await object.getHistory(query, active), id.thread_id, "[]"), select);
}

/** `{checkpoint}` as JSON text. */
export async function updateState(
  ctx: Context,
  id: ThreadId,
  { values, as_node, ...at }: At & { values: unknown; as_node: string | null },
) {
  const { object, active } = await openThread(ctx, id, "write");
  const supersteps = [[{ values, command: null, as_node }]];
  return textOf(await object.updateState({ ...at, supersteps }, active), id.thread_id, null);
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
