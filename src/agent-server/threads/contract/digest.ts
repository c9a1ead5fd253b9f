import { isRecord } from "../../../shared/guards.ts";

// The directory stores a digest of the values, for searches. Values or a digest over these limits have an empty digest.
const MAX_CHARACTERS = 1024 * 1024;
const MAX_DIGEST_CHARACTERS = 16 * 1024;
/** Longer texts are hashed. */
const MAX_STRING = 64;
/** Objects nested deeper are hashed. */
const MAX_DEPTH = 8;
/** Lists of more than twice this many items are hashed by their length and this many items of each end. */
const LIST_ENDS = 16;

type Digest = Record<string, unknown>;

/** @returns the digest of JSON text, empty when the values are not an object, or too large to search */
export function digestText(text: string): Digest {
  if (text.length > MAX_CHARACTERS) return {};
  const values: unknown = JSON.parse(text);
  const digest = isRecord(values) ? digestOf(values) : {};
  return JSON.stringify(digest).length > MAX_DIGEST_CHARACTERS ? {} : digest;
}

/** Hashes lists, long texts and deep objects. Searches digest the wanted values in the same way. */
export function digestOf(values: Record<string, unknown>, depth = 0): Digest {
  const entries = Object.entries(values).map(([key, value]) => [key, shorten(value, depth)]);
  return Object.fromEntries(entries);
}

function shorten(value: unknown, depth: number): unknown {
  if (isRecord(value) && depth < MAX_DEPTH) return digestOf(value, depth + 1);
  const isLong = typeof value === "string" && value.length > MAX_STRING;
  return isLong || (typeof value === "object" && value !== null) ? `\u0001${hash(value)}` : value;
}

// FNV-1a in two halves. A collision only adds a thread that does not match to the results of a search.
function hash(value: unknown): string {
  let [a, b] = [0x811c9dc5, 0x9dc5811c];
  const text = toSortedJson(Array.isArray(value) ? endsOf(value) : value);
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    a = Math.imul(a ^ code, 0x01000193);
    b = Math.imul(b ^ code, 0x01000197);
  }
  return (a >>> 0).toString(16).padStart(8, "0") + (b >>> 0).toString(16).padStart(8, "0");
}

function endsOf(list: unknown[]): unknown[] {
  if (list.length <= 2 * LIST_ENDS) return list;
  return [list.length, ...list.slice(0, LIST_ENDS), ...list.slice(-LIST_ENDS)];
}

/** Returns JSON with sorted keys, which is equal for values that differ in the order of keys alone. */
export function toSortedJson(value: unknown): string {
  return JSON.stringify(value, (_key, one: unknown) =>
    isRecord(one) ? Object.fromEntries(Object.entries(one).sort(byKey)) : one,
  );
}

function byKey([a]: [string, unknown], [b]: [string, unknown]): number {
  return a < b ? -1 : 1;
}
