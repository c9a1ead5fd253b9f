import type { z } from "zod";

const OPENING_BRACE = 0x7b;
const OPENING_BRACKET = 0x5b;

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
