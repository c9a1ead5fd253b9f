import type { Snapshot } from "../checkpoints/snapshot.ts";
import type { WireCommand } from "../contract.ts";

/** A client answered what the thread does not ask, or no longer. */
export class UnknownInterruptError extends Error {
  override name = "UnknownInterruptError";
}

// LangGraph's ids of interrupts: a hash of 128 bits.
const INTERRUPT_ID = /^[0-9a-f]{32}$/;

/** Throws where a resume answers an interrupt that does not wait. */
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

/** Of the graph and of its subgraphs. */
function interruptsOf({ tasks }: Snapshot): Set<string> {
  const ids = tasks.flatMap(({ interrupts, state }) => [
    ...interrupts.map(({ id }) => id ?? ""),
    ...(state && "tasks" in state ? interruptsOf(state as Snapshot) : []),
  ]);
  return new Set(ids);
}

/** The interrupts that an answer names: a map by their ids, or none where it is the one answer to all. */
function idsOf(resume: unknown): string[] {
  if (typeof resume !== "object" || resume === null || Array.isArray(resume)) return [];
  const keys = Object.keys(resume);
  return keys.length > 0 && keys.every((key) => INTERRUPT_ID.test(key)) ? keys : [];
}
