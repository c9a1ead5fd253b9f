import type { AgentFailure } from "./contract.ts";
import { toWire } from "./wire.ts";

/** Converts anything thrown to plain data inside the isolate, because RPC drops the class and the stack of an error. */
export function toFailure(thrown: unknown): AgentFailure {
  if (!(thrown instanceof Error)) return { error: "Error", message: textOf(thrown), stack: null };
  // An agent can assign anything to these fields.
  const fields: { name: unknown; message: unknown; stack?: unknown } = thrown;
  const [error, message] = [textOf(fields.name ?? "Error"), textOf(fields.message ?? "")];
  return { error, message, stack: stackOf(fields.stack, `${error}: ${message}`, message) };
}

/** Adds `title` to a stack without the message: some libraries leave it out. @returns `null` without a stack */
function stackOf(stack: unknown, title: string, message: string): string | null {
  if (typeof stack !== "string") return null;
  if (stack.includes(message)) return stack;
  const frames = stack.indexOf("\n    at ");
  return frames < 0 ? title : title + stack.slice(frames);
}

/** Returns the text of a failure for a log or a trace. */
export function failureText({ error, message, stack }: AgentFailure): string {
  return stack ?? `${error}: ${message}`;
}

/** Returns a value as text, and an object as JSON. Code may throw objects that are not an Error. */
function textOf(thrown: unknown): string {
  if (typeof thrown !== "object" || thrown === null) return String(thrown);
  try {
    // Removes the field by which LangGraph marks what a node throws.
    Reflect.deleteProperty(thrown, "pregelTaskId");
    return toWire(thrown);
  } catch {
    return String(thrown);
  }
}
