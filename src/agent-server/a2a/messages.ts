import { isRecord } from "../../shared/guards.ts";
import type { Part } from "./schema.ts";

type Loose = Record<string, unknown>;
type WireMessage = { id?: unknown; type?: unknown; content?: unknown };

export type TextPart = { kind: "text"; text: string };
export type DataPart = { kind: "data"; data: Loose };

/** Converts data parts to input fields and text parts to user messages. */
export function toInput(parts: Part[], message_id: string): Loose {
  const texts = textsOf(parts);
  const messages = texts.map((content, n) => ({
    role: "user",
    content,
    id: n === 0 ? message_id : `${message_id}-${n}`,
  }));
  return { ...Object.assign({}, ...dataOf(parts)), ...(messages.length > 0 && { messages }) };
}

/** Converts parts to the value that resumes an interrupt. */
export function toResume(parts: Part[]): unknown {
  const data = dataOf(parts);
  return data.length > 0 ? Object.assign({}, ...data) : textsOf(parts).join("\n");
}

export function textsOf(parts: Part[]): string[] {
  return parts.flatMap((part) => (part.kind === "text" ? [part.text] : []));
}

function dataOf(parts: Part[]): Loose[] {
  return parts.flatMap((part) => (part.kind === "data" ? [part.data] : []));
}

/** Returns the text of the agent's last message. Without such a text, returns all values. */
export function toAnswer(values: unknown): (TextPart | DataPart)[] {
  const last = messagesOf(values)
    .filter(({ type }) => type === "ai")
    .at(-1);
  const text = last === undefined ? "" : toText(last.content);
  return text === "" ? [toPart(values)] : [{ kind: "text", text }];
}

/**
 * Converts a text to a text part, and another value to a data part. Data must be an object: other values become
 * `value`.
 */
export function toPart(value: unknown): TextPart | DataPart {
  if (typeof value === "string") return { kind: "text", text: value };
  return { kind: "data", data: isRecord(value) ? value : { value } };
}

/** Returns up to `length` of the last messages with text of users and the agent. */
export function toHistory(values: unknown, length: number) {
  if (length === 0) return [];
  const history = messagesOf(values).flatMap(({ id, type, content }, n) => {
    const text = toText(content);
    if (text === "" || (type !== "human" && type !== "ai")) return [];
    return [{ role: type === "ai" ? "agent" : "user", messageId: String(id ?? n), text } as const];
  });
  return history.slice(-length);
}

/** Joins the text of content blocks. */
export function toText(content: unknown): string {
  if (typeof content === "string") return content;
  if (!Array.isArray(content)) return "";
  return content
    .map((block) => (isRecord(block) && typeof block.text === "string" ? block.text : ""))
    .join("");
}

function messagesOf(values: unknown): WireMessage[] {
  if (!isRecord(values) || !Array.isArray(values.messages)) return [];
  return values.messages.filter(isRecord);
}
