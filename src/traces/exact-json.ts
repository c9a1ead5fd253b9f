import { isRecord } from "../shared/guards.ts";
import type { JsonObject } from "./json.ts";

/** Parsed value, and the value to write again, in which all numbers are exact: the same object if `value` is exact. */
export type ExactJson = { value: unknown; exact: unknown };

/** Source text access of V8, missing in TypeScript's library. */
type ExactNumbers = {
  parse(
    text: string,
    reviver: (key: string, value: unknown, context: { source?: string }) => unknown,
  ): unknown;
  rawJSON(text: string): unknown;
};
const exactly = JSON as unknown as ExactNumbers;

/** Number of digits and points from which a number may lose digits: a double holds each number of 15 digits. */
const LONG_NUMBER_CHARS = 16;
/** Exponent of three digits or more: the number may be too large or too small for a double. */
const LONG_EXPONENT = /\d[eE][+-]?\d{3,}\s*(?:[,\]}]|$)/;
const [POINT, ZERO, NINE] = [46, 48, 57];

export function parseExact(text: string): ExactJson {
  const value: unknown = JSON.parse(text);
  return { value, exact: hasLongNumber(text) ? parseNumbers(text) : value };
}

/** Parses JSON that is only written again, with exact numbers. */
export function parseToWrite(text: string): unknown {
  return hasLongNumber(text) ? parseNumbers(text) : JSON.parse(text);
}

/** Samples every 16th character: a long number contains one of them. */
function hasLongNumber(text: string): boolean {
  if (LONG_EXPONENT.test(text)) return true;
  for (let at = LONG_NUMBER_CHARS - 1; at < text.length; at += LONG_NUMBER_CHARS) {
    if (!isNumberChar(text.charCodeAt(at))) continue;
    let [from, to] = [at, at];
    while (isNumberChar(text.charCodeAt(from - 1))) from -= 1;
    while (isNumberChar(text.charCodeAt(to + 1))) to += 1;
    if (to - from + 1 >= LONG_NUMBER_CHARS) return true;
  }
  return false;
}

function isNumberChar(code: number): boolean {
  return (code >= ZERO && code <= NINE) || code === POINT;
}

function parseNumbers(text: string): unknown {
  return exactly.parse(text, (_, value, { source }) => {
    if (typeof value !== "number" || source === undefined || String(value) === source) return value;
    return exactly.rawJSON(source);
  });
}

/** Returns the JSON of each field that is not `null`. Returns none when `value` is exact, or is not an object. */
export function exactTexts(
  { value, exact }: ExactJson,
  fields: readonly string[],
): Record<string, string> {
  if (exact === value || !isRecord(exact)) return {};
  const object: JsonObject = exact;
  const named = fields.filter((field) => object[field] !== undefined && object[field] !== null);
  return Object.fromEntries(named.map((field) => [field, JSON.stringify(object[field])]));
}
