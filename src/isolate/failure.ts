import type { AgentFailure, Answer } from "./contract.ts";

/** RPC drops the class and the stack of an error, so both are read here, inside the isolate. */
export function toFailure(error: unknown): AgentFailure {
  if (error instanceof Error) {
    return { error: error.name, message: error.message, stack: error.stack ?? null };
  }
  return { error: "Error", message: String(error), stack: null };
}

export async function answer<T>(work: () => Promise<T>): Promise<Answer<T>> {
  try {
    return { ok: true, value: await work() };
  } catch (error) {
    return { ok: false, error: toFailure(error) };
  }
}
