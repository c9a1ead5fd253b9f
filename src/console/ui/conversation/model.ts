import { cutText } from "../formats.ts";
import { type Fields, isFields, parseOr, toJson } from "./fields.ts";

type Role = "user" | "agent" | "system" | "tool";

export type ToolCall = {
  id: string;
  name: string;
  args: unknown;
  /** Text of the tool's message, `null` before the tool ended. */
  result: string | null;
  isFailed: boolean;
};

export type ChatMessage = {
  key: string;
  role: Role;
  /** Name of the author, `null` when the message has none. */
  name: string | null;
  text: string;
  calls: ToolCall[];
  /** Types of blocks that are not text, such as images. */
  parts: string[];
};

/** Keys are types, roles, and classes of serialized messages. */
const ROLES = new Map<string, Role>(
  Object.entries({
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
  } as const),
);

/** @returns the messages of a state, `null` when its `messages` is not a list of messages */
export function messagesOf(values: unknown): unknown[] | null {
  const messages = isFields(values) ? values.messages : undefined;
  return Array.isArray(messages) && messages.every(isMessage) ? messages : null;
}

/** @returns the messages of a state, or of the input or output of a model; `null` for another payload */
export function findMessages(payload: unknown): unknown[] | null {
  return listsIn(payload).find((list) => list.length > 0 && list.every(isMessage)) ?? null;
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

function isMessage(value: unknown): boolean {
  const { type, role, content } = fieldsOf(value);
  return ROLES.has(String(role ?? type)) && content !== undefined;
}

/** Joins results of tools to their calls, so that each tool is shown once. */
export function toConversation(messages: unknown[]): ChatMessage[] {
  const calls = new Map<string, ToolCall>();
  return messages.flatMap((each, index) => {
    const fields = fieldsOf(each);
    const message = toMessage(fields, index);
    for (const call of message.calls) calls.set(call.id, call);
    const call = calls.get(String(fields.tool_call_id));
    if (message.role !== "tool" || call === undefined) return [message];
    call.result = message.text;
    call.isFailed = fields.status === "error";
    return [];
  });
}

export function idOf(message: unknown): string | null {
  const { id } = fieldsOf(message);
  return typeof id === "string" ? id : null;
}

function toMessage(fields: Fields, index: number): ChatMessage {
  const { type, role, name, content } = fields;
  const known = ROLES.get(String(role ?? type)) ?? "agent";
  return {
    key: `${index}-${typeof fields.id === "string" ? fields.id : ""}`,
    role: known,
    name: typeof name === "string" && name !== "" ? name : null,
    text: textOf(content),
    calls: known === "agent" ? callsOf(fields) : [],
    parts: partsOf(content),
  };
}

/** Returns the fields of a message, which is plain or serialized with its class. */
function fieldsOf(message: unknown): Fields {
  if (!isFields(message)) return {};
  const { lc, id, kwargs } = message;
  if (lc === undefined || !Array.isArray(id) || !isFields(kwargs)) return message;
  return { type: id.at(-1), ...kwargs };
}

function textOf(content: unknown): string {
  if (typeof content === "string") return content;
  if (!Array.isArray(content)) return content === null || !content ? "" : toJson(content, 2);
  return content
    .flatMap((block) => {
      if (typeof block === "string") return [block];
      const text = isFields(block) ? block.text : undefined;
      return typeof text === "string" ? [text] : [];
    })
    .join("");
}

const MAX_PARTS = 10;

function partsOf(content: unknown): string[] {
  if (!Array.isArray(content)) return [];
  return content
    .flatMap((block) => (isFields(block) && typeof block.text !== "string" ? [block] : []))
    .map(({ type }) => String(type))
    .filter((type) => !/^(text|tool_use|tool_call|function_call|input_json_delta)/.test(type))
    .slice(0, MAX_PARTS);
}

function callsOf(fields: Fields): ToolCall[] {
  const { tool_calls, tool_call_chunks, additional_kwargs } = fields;
  const more = isFields(additional_kwargs) ? additional_kwargs.tool_calls : undefined;
  const lists = [tool_calls, tool_call_chunks, more];
  const calls = lists.find((list) => Array.isArray(list) && list.length > 0);
  return Array.isArray(calls) ? calls.filter(isFields).map(toCall) : [];
}

function toCall(fields: Fields, index: number): ToolCall {
  const called = isFields(fields.function) ? fields.function : fields;
  const args = called.args ?? called.arguments;
  return {
    id: String(fields.id ?? index),
    name: String(called.name ?? ""),
    args: typeof args === "string" ? parseOr(args) : args,
    result: null,
    isFailed: false,
  };
}

const MAX_TEXT = 120;

/** Returns the input of a run in a line: its last message, its JSON, or `continues` without an input. */
export function summaryOf({ input }: Fields): string {
  const text = toConversation(messagesOf(input) ?? []).at(-1)?.text;
  if (text) return `“${cutText(text, MAX_TEXT)}”`;
  return input === null || input === undefined ? "continues" : cutText(toJson(input), MAX_TEXT);
}
