import type { Context } from "../../shared/context.ts";
import { nullIfNotFound } from "../../shared/errors.ts";
import { getState } from "../threads/api/state/state-service.ts";
import { threadNotFound } from "../threads/contract/state-answers.ts";
import {
  type CommandCall,
  type CommandOutcome,
  commandFailure,
  readParams,
} from "../threads/events/envelope.ts";
import { lastSeqOf } from "../threads/events/event.ts";
import { GetTree, StateGet } from "../threads/events/schema.ts";
import type { EventSession } from "../threads/events/session.ts";
import { readTree } from "./service.ts";

export async function getTree(
  ctx: Context,
  session: EventSession,
  call: CommandCall,
): Promise<CommandOutcome> {
  const params = readParams(GetTree, call);
  if (params.type === "error") return params;
  const run_id = params.value.run_id ?? null;
  const { tree, last_event } = await readTree(ctx, session, run_id);
  if (tree)
    return { type: "success", result: { tree }, applied_through_seq: lastSeqOf(last_event) };
  const message = `The thread has no ${run_id === null ? "run yet" : `run ${run_id}`}.`;
  return commandFailure("no_such_run", message);
}

type State = {
  values: Record<string, unknown>;
  checkpoint: { checkpoint_id: string } | null;
};

export async function readState(
  ctx: Context,
  session: EventSession,
  call: CommandCall,
): Promise<CommandOutcome> {
  const params = readParams(StateGet, call);
  if (params.type === "error") return params;
  const { namespace, keys } = params.value;
  const ns = (namespace ?? []).join("|");
  const at = { ns, checkpoint_id: null, subgraphs: false, select: [] };
  const text = await nullIfNotFound(getState(ctx, session, at));
  if (text === null) {
    const { message } = threadNotFound(session.thread_id);
    return commandFailure("no_such_checkpoint", message);
  }
  const { values, checkpoint } = JSON.parse(text) as State;
  if (checkpoint === null && ns !== "") {
    return commandFailure("no_such_namespace", `The namespace ${ns} has no state.`);
  }
  const shown = Object.entries(values).filter(([key]) => !keys || keys.includes(key));
  const result = {
    values: Object.fromEntries(shown),
    ...(checkpoint && { checkpoint: { id: checkpoint.checkpoint_id, ns } }),
  };
  const { last_event } = await readTree(ctx, session, null);
  return { type: "success", result, applied_through_seq: lastSeqOf(last_event) };
}
