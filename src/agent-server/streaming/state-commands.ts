import type { Context } from "../../shared/context.ts";
import { nullIfNotFound } from "../../shared/errors.ts";
import { isRecord } from "../../shared/guards.ts";
import { getState } from "../threads/api/state/state-service.ts";
import { threadNotFound } from "../threads/contract/state-answers.ts";
import {
  type CommandCall,
  type CommandOutcome,
  commandFailure,
  parseParams,
} from "../threads/events/command.ts";
import { lastSeqOf } from "../threads/events/event.ts";
import { GetTree, StateGet } from "../threads/events/schema.ts";
import type { EventSession } from "../threads/events/session.ts";
import { readLastEvent, readTree } from "./service.ts";

export async function handleGetTree(
  ctx: Context,
  session: EventSession,
  call: CommandCall,
): Promise<CommandOutcome> {
  const params = parseParams(GetTree, call);
  if (params.type === "error") return params;
  const run_id = params.value.run_id ?? null;
  const { tree, last_event } = await readTree(ctx, session, run_id);
  if (tree)
    return { type: "success", result: { tree }, applied_through_seq: lastSeqOf(last_event) };
  const message = `The thread has no ${run_id === null ? "run yet" : `run ${run_id}`}.`;
  return commandFailure("no_such_run", message);
}

type ThreadState = {
  /** Not an object for an entrypoint that returned another value. */
  values: unknown;
  checkpoint: { checkpoint_id: string } | null;
};

export async function handleGetState(
  ctx: Context,
  session: EventSession,
  call: CommandCall,
): Promise<CommandOutcome> {
  const params = parseParams(StateGet, call);
  if (params.type === "error") return params;
  const { namespace, keys } = params.value;
  const ns = (namespace ?? []).join("|");
  const query = { ns, checkpoint_id: null, subgraphs: false, select: [] };
  // Read before the state: an event between both reads is sent although the state has it, instead of being lost.
  const last_event = await readLastEvent(ctx, session);
  const text = await nullIfNotFound(getState(ctx, session, query));
  if (text === null) {
    const { message } = threadNotFound(session.thread_id);
    // The protocol has no code for a missing thread.
    return commandFailure("no_such_checkpoint", message);
  }
  const { values, checkpoint } = JSON.parse(text) as ThreadState;
  if (checkpoint === null && ns !== "") {
    return commandFailure("no_such_namespace", `The namespace ${ns} has no state.`);
  }
  const result = {
    values: isRecord(values) ? selected(values, keys) : values,
    ...(checkpoint && { checkpoint: { id: checkpoint.checkpoint_id, ns } }),
  };
  return { type: "success", result, applied_through_seq: lastSeqOf(last_event) };
}

function selected(values: Record<string, unknown>, keys: string[] | null | undefined) {
  const shown = Object.entries(values).filter(([key]) => !keys || keys.includes(key));
  return Object.fromEntries(shown);
}
