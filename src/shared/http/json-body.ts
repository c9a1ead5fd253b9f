import type { TypedResponse } from "hono";
import { AppError } from "../errors.ts";

/** `NaN`, `Infinity` and `-Infinity`, which some languages write and JSON does not have. */
const NO_NUMBER = /token '[NI]'|No number after minus sign/;

/** Returns the error for text that is not JSON, with the parser's message: the token and the text around it. */
export function malformedJson(error: unknown, what = "Malformed JSON in request body"): AppError {
  const found = error instanceof SyntaxError ? `: ${error.message}` : "";
  const remedy = NO_NUMBER.test(found) ? ". JSON has no NaN or Infinity: send null or a text" : "";
  return new AppError("bad_request", `${what}${found}${remedy}`, { cause: error });
}

export function parseJsonBody(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw malformedJson(error);
  }
}

/** Returns a response with JSON text that is not parsed here: its objects could fill the memory of the isolate. */
export function jsonText(text: string): Response & TypedResponse<never, 200, "json"> {
  const headers = { "Content-Type": "application/json" };
  return new Response(text, { headers }) as Response & TypedResponse<never, 200, "json">;
}

/**
 * Finds a number that no double can hold, such as 1e400, which would be stored as `null`.
 * @returns the keys that lead to it, `null` when all numbers are finite
 */
export function pathOfInfinity(value: unknown): (string | number)[] | null {
  if (typeof value === "number") return Number.isFinite(value) ? null : [];
  if (typeof value !== "object" || value === null) return null;
  return firstPath(Object.entries(value), Array.isArray(value));
}

function firstPath(entries: [string, unknown][], isList: boolean): (string | number)[] | null {
  for (const [key, value] of entries) {
    const path = pathOfInfinity(value);
    if (path) return [isList ? Number(key) : key, ...path];
  }
  return null;
}
