import type { z } from "zod";

const OPENING_BRACE = 0x7b;
const OPENING_BRACKET = 0x5b;

/** Size of JSON text. `containers`: its opening braces and brackets, also those within strings. */
export type JsonSize = { characters: number; containers: number };

export function jsonSizeOf(...texts: string[]): JsonSize {
  const sum = (sizes: number[]) => sizes.reduce((total, size) => total + size, 0);
  const characters = sum(texts.map(({ length }) => length));
  return { characters, containers: sum(texts.map(countBrackets)) };
}

export function isLarger(size: JsonSize, limit: JsonSize): boolean {
  return size.characters > limit.characters || size.containers > limit.containers;
}

/** Remaining room for the JSON texts of a response. The whole response is in memory. */
export class JsonRoom {
  #left: JsonSize;

  constructor(size: JsonSize) {
    this.#left = size;
  }

  get left(): JsonSize {
    return this.#left;
  }

  /** @returns `false` when the texts do not fit: the room stays the same */
  take(...texts: string[]): boolean {
    const { characters, containers } = jsonSizeOf(...texts);
    const { left } = this;
    if (isLarger({ characters, containers }, left)) return false;
    this.#left = {
      characters: left.characters - characters,
      containers: left.containers - containers,
    };
    return true;
  }
}

/**
 * Whether the text is JSON with at most `max_containers` objects and lists. Parsed, each takes many times its
 * characters in memory, so they are counted before. The count includes opening brackets within strings.
 */
export function isJsonWithin(text: string, max_containers: number): boolean {
  return countBrackets(text) <= max_containers && isJson(text);
}

function countBrackets(text: string): number {
  let brackets = 0;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === OPENING_BRACE || code === OPENING_BRACKET) brackets += 1;
  }
  return brackets;
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

/** Whether the text is JSON that matches the schema. `max_containers`: see `isJsonWithin`. */
export function isJsonOf(
  schema: z.ZodType,
  text: string,
  max_containers = Number.POSITIVE_INFINITY,
): boolean {
  if (countBrackets(text) > max_containers) return false;
  try {
    return schema.safeParse(JSON.parse(text)).success;
  } catch {
    return false;
  }
}
