import { isRecord } from "../../shared/guards.ts";

const MAX_CHARS = 300;
const MAX_DEPTH = 12;
/** Fields that hold the text of messages and of their parts, as LangChain, OpenAI and Anthropic name them. */
const TEXT_FIELDS = [
  ...["messages", "generations", "choices", "message", "kwargs", "content", "text"],
  ...["output", "input", "question", "query", "answer"],
];

/**
 * Returns a line of at most 300 characters for a list: the last message of a conversation, the text of an object, or
 * JSON.
 *
 * @param json a payload as it is stored
 */
export function previewOf(json: string | null): string | null {
  if (json === null) return null;
  const text = textOf(JSON.parse(json), MAX_DEPTH) ?? json;
  return text.trim().replaceAll(/\s+/g, " ").slice(0, MAX_CHARS);
}

function textOf(value: unknown, depth: number): string | null {
  if (typeof value === "string") return value.trim() === "" ? null : value;
  if (depth === 0) return null;
  if (Array.isArray(value)) return firstText(value.toReversed(), depth);
  if (!isRecord(value)) return null;
  const fields = Object.keys(value);
  // An object with one field is shown by that field. A lone `type`, for example that of an image, has no text.
  const only = fields.length === 1 ? fields.filter((name) => name !== "type") : [];
  return firstText(
    [...TEXT_FIELDS, ...only].map((name) => value[name]),
    depth,
  );
}

function firstText(values: unknown[], depth: number): string | null {
  for (const value of values) {
    const text = textOf(value, depth - 1);
    if (text !== null) return text;
  }
  return null;
}
