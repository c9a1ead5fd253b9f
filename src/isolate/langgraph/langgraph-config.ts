import { type Command, Send } from "@langchain/langgraph";
import type { RunCall, StateCall, WireCommand, WireUpdate } from "../contract.ts";
import { newCommand } from "./library.ts";

/**
 * Returns options of `graph.stream`. Omits missing options: an explicit `undefined` would override a default.
 */
export function toOptions(call: RunCall, context: Record<string, unknown> | undefined) {
  const { config, interrupt_before, interrupt_after } = call;
  return {
    configurable: { checkpoint_ns: "", ...config.configurable, thread_id: call.thread_id },
    metadata: config.metadata ?? {},
    // With "async" LangGraph does not wait for the saver: a fast graph would run ahead of its storage without a limit.
    durability: call.durability === "exit" ? ("exit" as const) : ("sync" as const),
    ...(config.tags && { tags: config.tags }),
    ...(config.recursion_limit !== undefined && { recursionLimit: config.recursion_limit }),
    ...(context !== undefined && { context }),
    ...(interrupt_before && { interruptBefore: interrupt_before as "*" }),
    ...(interrupt_after && { interruptAfter: interrupt_after as "*" }),
  };
}

/**
 * Returns the config of a read or an update of the state: its checkpoint, and the configurable of the call, on which
 * dynamic graphs may depend.
 */
export function toStateConfig(
  call: Pick<StateCall, "thread_id" | "config"> & Partial<Pick<StateCall, "ns" | "checkpoint_id">>,
) {
  const { checkpoint_id: _ignored, checkpoint_map: _map, ...own } = call.config.configurable ?? {};
  return {
    configurable: {
      ...own,
      thread_id: call.thread_id,
      checkpoint_ns: call.ns ?? "",
      ...(call.checkpoint_id && { checkpoint_id: call.checkpoint_id }),
    },
  };
}

export function toCommand(command: WireCommand | null): Command | null {
  if (!command) return null;
  const { resume, update, goto } = command;
  return newCommand({
    ...(resume !== undefined && resume !== null && { resume }),
    ...(update && { update: toUpdate(update) }),
    ...(goto !== undefined && goto !== null && { goto: toGoto(goto) }),
  });
}

export function toStateUpdate({ values, command, as_node }: WireUpdate) {
  const written = command ? toCommand(command) : (values as Record<string, unknown>);
  return { values: written, ...(as_node !== null && { asNode: as_node }) };
}

function toUpdate(update: NonNullable<WireCommand["update"]>): Record<string, unknown> {
  return Array.isArray(update) ? (update as unknown as Record<string, unknown>) : update;
}

function toGoto(goto: unknown): (string | Send)[] {
  return (Array.isArray(goto) ? goto : [goto]).map((target) => {
    if (typeof target === "string") return target;
    const { node, input } = target as { node: string; input?: unknown };
    return new Send(node, input);
  });
}
