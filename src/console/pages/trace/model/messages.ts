import { type Fields, isFields } from "../../../ui/conversation/fields.ts";

export type PayloadMessage = {
  /** `user`, `agent`, `system` or `tool`. */
  role: string;
  text: string;
  calls: { name: string; args: unknown }[];
};

const ROLES: Record<string, string> = {
  human: "user",
  user: "user",
  HumanMessage: "user",
  ai: "agent",
  assistant: "agent",
  AIMessage: "agent",
  AIMessageChunk: "agent",
  system: "system",
  developer: "system",
  SystemMessage: "system",
  tool: "tool",
  function: "tool",
  ToolMessage: "tool",
};

/** @returns the messages of a state, a model's input or its generations; `null` for another payload */
export function findMessages(payload: unknown): PayloadMessage[] | null {
  for (const list of listsIn(payload)) {
    const messages = list.map(toMessage);
    if (messages.length > 0 && !messages.includes(null))
      return messages.flatMap((one) => one ?? []);
  }
  return null;
}

function listsIn(payload: unknown): unknown[][] {
  if (Array.isArray(payload)) return [payload.flat()];
  if (!isFields(payload)) return [];
  const { messages, generations, output, message } = payload;
  const generated = Array.isArray(generations)
    ? generations.flat().map((one) => (isFields(one) ? one.message : undefined))
    : [];
  return [messages, generated, output, message, payload].map((part) =>
    Array.isArray(part) ? part.flat() : [part],
  );
}

function toMessage(value: unknown): PayloadMessage | null {
  const fields = fieldsOf(value);
  const role = ROLES[String(fields.role ?? fields.type)];
  if (role === undefined || fields.content === undefined) return null;
  return { role, text: textOf(fields.content), calls: callsOf(fields.tool_calls) };
}

/** The fields of a message in either of its forms: plain, or serialized with its class. */
function fieldsOf(value: unknown): Fields {
  if (!isFields(value)) return {};
  const { lc, id, kwargs } = value;
  if (lc === undefined || !Array.isArray(id) || !isFields(kwargs)) return value;
  return { type: id.at(-1), ...kwargs };
}

function textOf(content: unknown): string {
  if (typeof content === "string") return content;
  if (!Array.isArray(content)) return content === null ? "" : (JSON.stringify(content) ?? "");
  return content.map(blockText).filter(Boolean).join("\n");
}

/** Blocks that are not text are named by their type. The JSON view has all of them. */
function blockText(block: unknown): string {
  if (typeof block === "string") return block;
  if (!isFields(block)) return "";
  return typeof block.text === "string" ? block.text : `[${String(block.type ?? "block")}]`;
}

function callsOf(calls: unknown): PayloadMessage["calls"] {
  if (!Array.isArray(calls)) return [];
  return calls.filter(isFields).map((call) => {
    const called = isFields(call.function) ? call.function : call;
    return { name: String(called.name ?? ""), args: called.args ?? called.arguments };
  });
}
