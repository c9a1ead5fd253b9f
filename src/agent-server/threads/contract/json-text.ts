import type { z } from "zod";

const OPENING_BRACE = 0x7b;
const OPENING_BRACKET = 0x5b;

/** Size of JSON text. `containers`: its objects and lists, with brackets within strings. */
export type JsonSize = { characters: number; containers: number };

export function jsonSizeOf(...texts: string[]): JsonSize {
  const sum = (sizes: number[]) => sizes.reduce((total, size) => total + size, 0);
  const characters = sum(texts.map(({ length }) => length));
  return { characters, containers: sum(texts.map(countBrackets)) };
}

export function isLarger(size: JsonSize, limit: JsonSize): boolean {
  return size.characters > limit.characters || size.containers > limit.containers;
}

/** Room for the JSON texts of an answer, which is in memory as a whole. */
export class JsonRoom {
  #left: JsonSize;

  constructor(size: JsonSize) {
    this.#left = size;
  }

  get left(): JsonSize {
    return this.#left;
  }

  /** @returns `false` when the texts do not fit: nothing is taken then */
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
 * Whether it is JSON text of at most so many objects and lists. Brackets within strings count too: each may become
 * an object of many times its size.
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

/** `max_containers`: as of `isJsonWithin`. */
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
