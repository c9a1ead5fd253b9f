import { isRecord } from "../../../shared/guards.ts";

/** Message of the semantic conventions: https://opentelemetry.io/docs/specs/semconv/gen-ai/gen-ai-spans/ */
export type GenAiMessage = { role: string; parts: Part[] };
type Part = { type: string; [field: string]: unknown };
type Fields = Record<string, unknown>;

const ROLES: Record<string, string> = {
  human: "user",
  ai: "assistant",
  AIMessage: "assistant",
  HumanMessage: "user",
  SystemMessage: "system",
  ToolMessage: "tool",
  FunctionMessage: "function",
};

/**
 * Reads the messages of a model's inputs or outputs: LangChain's serialized ones, those of chat APIs, and the
 * `generations` or `choices` that contain them.
 * @returns an empty list for values without messages
 */
export function genAiMessages(value: unknown): GenAiMessage[] {
  if (!isRecord(value)) return [];
  const { messages, message, generations, choices, output } = value;
  // LangChain has a list of messages, or of generations, for each prompt of a batch.
  const direct = [messages ?? message ?? output].flat(2);
  const nested = [generations, choices].flat(3).map((one) => (isRecord(one) ? one.message : null));
  return [...direct, ...nested].flatMap(toMessage);
}

function toMessage(message: unknown): GenAiMessage[] {
  if (!isRecord(message)) return [];
  const fields = isRecord(message.kwargs) ? message.kwargs : message;
  const role = roleOf(message, fields);
  if (role === null) return [];
  const id = fields.tool_call_id;
  if (role === "tool") {
    return [{ role, parts: [{ type: "tool_call_response", id, response: fields.content }] }];
  }
  return [{ role, parts: [...contentParts(fields.content), ...toolCallParts(fields.tool_calls)] }];
}

function roleOf(message: Fields, { role, type }: Fields): string | null {
  const serialized = Array.isArray(message.id) ? message.id.at(-1) : null;
  const name = typeof serialized === "string" ? serialized.replace(/Chunk$/, "") : (role ?? type);
  // A `ChatMessage` has any role.
  if (name === "ChatMessage" && typeof role === "string") return role;
  return typeof name === "string" ? (ROLES[name] ?? name) : null;
}

function contentParts(content: unknown): Part[] {
  if (typeof content === "string") return content === "" ? [] : [{ type: "text", content }];
  if (!Array.isArray(content)) return [];
  return content.map((part): Part => {
    if (!isRecord(part)) return { type: "text", content: String(part) };
    const { type = "unknown", text } = part;
    return type === "text" ? { type: "text", content: text } : { ...part, type: String(type) };
  });
}

function toolCallParts(calls: unknown): Part[] {
  if (!Array.isArray(calls)) return [];
  return calls.filter(isRecord).map((call) => {
    const { name, args } = isRecord(call.function) ? fromFunction(call.function) : call;
    return { type: "tool_call", id: call.id, name, arguments: args };
  });
}

function fromFunction({ name, arguments: args }: Fields): Fields {
  return { name, args };
}
