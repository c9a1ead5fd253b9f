import type { Snapshot } from "../checkpoints/snapshot.ts";
import type { WireCommand } from "../contract.ts";

/** Error of an answer to an interrupt that is not pending. */
export class UnknownInterruptError extends Error {
  override name = "UnknownInterruptError";
}

// LangGraph's ids of interrupts: a hash of 128 bits.
const INTERRUPT_ID = /^[0-9a-f]{32}$/;

/** Throws when a resume answers an interrupt that is not pending. */
export function assertAwaited(command: WireCommand | null, snapshot: Snapshot) {
  const { resume } = command ?? {};
  if (resume === undefined || resume === null) return;
  const waiting = interruptsOf(snapshot);
  if (waiting.size === 0) {
    throw new UnknownInterruptError("No interrupt is pending: the thread cannot be resumed.");
  }
  const unknown = idsOf(resume).filter((id) => !waiting.has(id));
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

/** Returns the interrupts that an answer names, none when it answers all. */
function idsOf(resume: unknown): string[] {
  if (typeof resume !== "object" || resume === null || Array.isArray(resume)) return [];
  const keys = Object.keys(resume);
  return keys.length > 0 && keys.every((key) => INTERRUPT_ID.test(key)) ? keys : [];
}
