import type { AgentFailure, Answer } from "./contract.ts";
import { toWire } from "./wire.ts";

/** RPC drops the class and the stack of an error, so both are read here, inside the isolate. */
export function toFailure(error: unknown): AgentFailure {
  if (error instanceof Error) {
    return { error: error.name, message: error.message, stack: error.stack ?? null };
  }
  return { error: "Error", message: textOf(error), stack: null };
}

/** Keeps the fields of a thrown value that is not an Error, as JSON. */
function textOf(thrown: unknown): string {
  if (typeof thrown !== "object" || thrown === null) return String(thrown);
  try {
    // LangGraph marks errors that a node throws.
    Reflect.deleteProperty(thrown, "pregelTaskId");
    return toWire(thrown);
  } catch {
    return String(thrown);
  }
}

export async function answer<T>(work: () => Promise<T>): Promise<Answer<T>> {
  try {
    return { ok: true, value: await work() };
  } catch (error) {
    return { ok: false, error: toFailure(error) };
  }
}
