import type { HostSaver } from "../checkpoints/saver.ts";
import type { Snapshot } from "../checkpoints/snapshot.ts";
import type { RunCall, WireCommand } from "../contract.ts";
import type { Graph } from "./langgraph.ts";
import { toCommand, toStateConfig } from "./langgraph-config.ts";
import { readState } from "./state.ts";

/** Error of an answer to an interrupt that is not pending. */
export class UnknownInterruptError extends Error {
  override name = "UnknownInterruptError";
}

// LangGraph's ids of interrupts: a hash of 128 bits.
const INTERRUPT_ID = /^[0-9a-f]{32}$/;

/** @throws UnknownInterruptError when a resume answers an interrupt that is not pending */
function assertAwaited(command: WireCommand | null, snapshot: Snapshot) {
  if (!isAnswer(command)) return;
  const waiting = interruptsOf(snapshot);
  if (waiting.size === 0) {
    throw new UnknownInterruptError("No interrupt is pending: the thread cannot be resumed.");
  }
  const unknown = idsOf(command.resume).filter((id) => !waiting.has(id));
  if (unknown.length === 0) return;
  throw new UnknownInterruptError(
    `No interrupt ${unknown.join(", ")} is pending; pending interrupts: ${[...waiting].join(", ")}.`,
  );
}

/** Returns the interrupts of the graph and its subgraphs. */
function interruptsOf({ tasks }: Snapshot): Set<string> {
  const ids = tasks.flatMap(({ interrupts, state }) => [
    ...interrupts.map(({ id }) => id ?? ""),
    ...(state && "tasks" in state ? interruptsOf(state as Snapshot) : []),
  ]);
  return new Set(ids);
}

/** Returns the ids of the interrupts that an answer names. An answer to all interrupts names none. */
function idsOf(resume: unknown): string[] {
  if (typeof resume !== "object" || resume === null || Array.isArray(resume)) return [];
  const keys = Object.keys(resume);
  return keys.length > 0 && keys.every((key) => INTERRUPT_ID.test(key)) ? keys : [];
}

/** Returns the checkpoint whose interrupt the run answers again. @returns `null` for other runs, and when resuming */
export function answeredAgain({ command, config, resuming }: RunCall): string | null {
  const { checkpoint_id } = config.configurable ?? {};
  return isAnswer(command) && !resuming && typeof checkpoint_id === "string" ? checkpoint_id : null;
}

export function isAnswer(command: WireCommand | null): command is WireCommand {
  return command?.resume !== undefined && command.resume !== null;
}

export function isFirstAttempt({ config }: RunCall): boolean {
  return Number(config.metadata?.run_attempt ?? 1) === 1;
}

/** Returns the command or input of LangGraph's stream, `null` to continue from a checkpoint. */
export async function inputOf(call: RunCall, saver: HostSaver): Promise<unknown> {
  if (call.resuming) return null;
  return toCommand(await commandOf(call, saver)) ?? call.input ?? null;
}

/**
 * Returns the command of a run. In a later attempt an answer to all interrupts gets the ids of the pending ones. A
 * subgraph that is already past its interrupt would otherwise use the answer for its next interrupt.
 */
async function commandOf(call: RunCall, saver: HostSaver): Promise<WireCommand | null> {
  const { command, config } = call;
  // The answer of a fork from an answered interrupt is for all tasks, not only for those that wait.
  if (isFirstAttempt(call) || !isAnswer(command) || answeredAgain(call)) return command;
  const { resume } = command;
  if (idsOf(resume).length > 0) return command;
  const { checkpoint_id } = config.configurable ?? {};
  const ids = await saver.interruptsAt(typeof checkpoint_id === "string" ? checkpoint_id : null);
  if (ids.length === 0 || !ids.every((id) => INTERRUPT_ID.test(id))) return command;
  return { ...command, resume: Object.fromEntries(ids.map((id) => [id, resume])) };
}

/**
 * Asserts, in the first attempt, that each answered interrupt is pending. Later attempts may find the answers stored,
 * and the interrupts no longer pending.
 */
export async function assertAnswersWaited(graph: Graph, call: RunCall): Promise<void> {
  if (call.resuming || !isFirstAttempt(call)) return;
  assertAwaited(call.command, await readState(graph, toStateConfig(call), true));
}
