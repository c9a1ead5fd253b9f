import type { Context } from "../../../../shared/context.ts";
import { readText, updateText } from "../../contract/state-answers.ts";
import { openThread, type ThreadRef, toRevisionRef } from "../threads/service.ts";

export type CheckpointPosition = { ns: string; checkpoint_id: string | null };

// State of a thread without a graph.
const EMPTY_STATE = JSON.stringify({
  values: {},
  next: [],
  tasks: [],
  created_at: null,
  checkpoint: null,
  parent_checkpoint: null,
});

/** @returns the JSON text of a ThreadState */
export async function getState(
  ctx: Context,
  id: ThreadRef,
  { select, ...at }: CheckpointPosition & { subgraphs: boolean; select: string[] },
) {
  const { object, active } = await openState(ctx, id, "read");
  return pickState(
    readText(await object.getState(at, active), { ...id, ...at }, EMPTY_STATE),
    select,
  );
}

/** @returns the JSON text of a list of ThreadState, newest first */
export async function getHistory(
  ctx: Context,
  id: ThreadRef,
  {
    select,
    ...query
  }: CheckpointPosition & {
    limit: number;
    before_id: string | null;
    metadata: Record<string, unknown> | null;
    select: string[];
  },
) {
  const { object, active } = await openState(ctx, id, "read");
  return pickState(
    readText(await object.getHistory(query, active), { ...id, ...query }, "[]"),
    select,
  );
}

/** @returns the JSON text of `{checkpoint}` */
export async function updateState(
  ctx: Context,
  id: ThreadRef,
  { values, as_node, ...at }: CheckpointPosition & { values: unknown; as_node: string | null },
) {
  const { object, active } = await openState(ctx, id, "update");
  const supersteps = [[{ values, command: null, as_node }]];
  return updateText(await object.updateState({ ...at, supersteps }, active), { ...id, ...at });
}

async function openState(ctx: Context, id: ThreadRef, action: "read" | "update") {
  const { agent, object } = await openThread(ctx, id, action, {});
  return { object, active: toRevisionRef(agent) };
}

type Fields = Record<string, unknown>;

/** Selects fields, or `values.<key>`, of the JSON text of one state or a list of states. */
function pickState(text: string, fields: string[]): string {
  if (fields.length === 0) return text;
  const states: unknown = JSON.parse(text);
  const pickOne = (state: unknown) => pickFields(state as Fields, fields);
  return JSON.stringify(Array.isArray(states) ? states.map(pickOne) : pickOne(states));
}

function pickFields(state: Fields, fields: string[]): Fields {
  const picked = Object.fromEntries(
    Object.entries(state).filter(([field]) => fields.includes(field)),
  );
  if (fields.includes("values")) return picked;
  const keys = fields.flatMap((field) =>
    field.startsWith("values.") ? [field.slice("values.".length)] : [],
  );
  return keys.length === 0 ? picked : { ...picked, values: pickKeys(state.values, keys) };
}

function pickKeys(values: unknown, keys: string[]): Fields {
  if (typeof values !== "object" || values === null) return {};
  return Object.fromEntries(Object.entries(values).filter(([key]) => keys.includes(key)));
}
