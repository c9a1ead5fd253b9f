import { isRecord } from "../../shared/guards.ts";
import type { Part } from "./schema.ts";

type Loose = Record<string, unknown>;
type WireMessage = { id?: unknown; type?: unknown; content?: unknown };

export type TextPart = { kind: "text"; text: string };
export type DataPart = { kind: "data"; data: Loose };

/** What a graph is given: data as it is, texts as messages of a person. */
export function toInput(parts: Part[], message_id: string): Loose {
  const texts = textsOf(parts);
  const messages = texts.map((content, n) => ({
    role: "user",
    content,
    id: n === 0 ? message_id : `${message_id}-${n}`,
  }));
  return { ...Object.assign({}, ...dataOf(parts)), ...(messages.length > 0 && { messages }) };
}

/** The answer to what a graph asked: its text, or its data where there is some. */
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

/** The values of a run as the parts of its answer: what the agent said last, or all of them. */
export function toAnswer(values: unknown): (TextPart | DataPart)[] {
  const said = messagesOf(values)
    .filter(({ type }) => type === "ai")
    .at(-1);
  const text = said === undefined ? "" : toText(said.content);
  return text === "" ? [toPart(values)] : [{ kind: "text", text }];
}

/** Data must be an object: anything else is the `value` of one. */
export function toPart(value: unknown): TextPart | DataPart {
  if (typeof value === "string") return { kind: "text", text: value };
  return { kind: "data", data: isRecord(value) ? value : { value } };
}

/** The conversation as far as persons and the agent said it. */
export function toHistory(values: unknown, length: number) {
  if (length === 0) return [];
  const said = messagesOf(values).flatMap(({ id, type, content }, n) => {
    const text = toText(content);
    if (text === "" || (type !== "human" && type !== "ai")) return [];
    return [{ role: type === "ai" ? "agent" : "user", messageId: String(id ?? n), text } as const];
  });
  return said.slice(-length);
}

/** Of a text, or of a list of blocks some of which are text. */
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
