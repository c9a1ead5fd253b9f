import { parseText } from "./run-draft.ts";
import type { Attributes, SpanEvent } from "./span.ts";

/** Events whose attributes count as attributes of the span. */
const CARRIERS = new Set([
  "gen_ai.client.inference.operation.details",
  "gen_ai.content.prompt",
  "gen_ai.content.completion",
]);

/** Messages by the name of their event: the side of the model call, and the role. */
const MESSAGES = new Map<string, { side: "inputs" | "outputs"; role: string }>([
  ["gen_ai.system.message", { side: "inputs", role: "system" }],
  ["gen_ai.user.message", { side: "inputs", role: "user" }],
  ["gen_ai.assistant.message", { side: "inputs", role: "assistant" }],
  ["gen_ai.tool.message", { side: "inputs", role: "tool" }],
  ["gen_ai.choice", { side: "outputs", role: "assistant" }],
]);

export type ReadEvents = {
  /** Attributes of the span and of the events that carry its data. */
  attributes: Attributes;
  messages: Record<"inputs" | "outputs", unknown[]>;
  /** Type, message and stack of the last exception. */
  exception: string | null;
  others: SpanEvent[];
};

export function readEvents(attributes: Attributes, events: SpanEvent[]): ReadEvents {
  const [carriers, rest] = [events.filter(isCarrier), events.filter((event) => !isCarrier(event))];
  const read: ReadEvents = {
    attributes: mergeAttributes([attributes, ...carriers.map((event) => event.attributes)]),
    messages: { inputs: [], outputs: [] },
    exception: null,
    others: [],
  };
  for (const event of rest) readEvent(read, event);
  return read;
}

function isCarrier({ name }: SpanEvent): boolean {
  return CARRIERS.has(name);
}

/** Merges lists into one map. Attributes of an earlier list override those of a later one. */
function mergeAttributes(lists: Attributes[]): Attributes {
  const all: Attributes = new Map();
  for (const list of lists.toReversed()) for (const [name, value] of list) all.set(name, value);
  return all;
}

function readEvent(read: ReadEvents, event: SpanEvent): void {
  const message = MESSAGES.get(event.name);
  if (message !== undefined) {
    read.messages[message.side].push(toMessage(event.attributes, message.role));
  } else {
    if (event.name === "exception") read.exception = exceptionText(event.attributes);
    read.others.push(event);
  }
}

function toMessage(attributes: Attributes, role: string): unknown {
  const whole = parseText(attributes.get("gen_ai.event.content"));
  if (whole !== undefined) return whole;
  const fields = new Map<string, unknown>([["role", role]]);
  for (const [name, value] of attributes) {
    if (name === "gen_ai.system") continue;
    if (name === "id") fields.set("tool_call_id", value);
    else fields.set(name.replace(/^message\./, ""), parseText(value));
  }
  return Object.fromEntries(fields);
}

function exceptionText(attributes: Attributes): string {
  const [type, message, stack] = ["type", "message", "stacktrace"].map((name) => {
    const value = attributes.get(`exception.${name}`);
    return typeof value === "string" ? value : "";
  });
  const head = [type, message].filter((part) => part !== "").join(": ");
  return [head || "Exception", stack].filter((part) => part !== "").join("\n\n");
}
