import type { PairSource } from "./changes.ts";

/** Kinds of terms. A term is a hash of kind, key and value that fits a double. */
export type TermKind = PairSource | "tag";

const [VALUE_BITS, KEY_BITS] = [32, 21];
const VALUES = 2 ** VALUE_BITS;
const SEED = 0x811c9dc5;
const PRIME = 0x01000193;

/** Collisions are possible: readers check the pairs of the rows found. */
export function termOf(kind: TermKind, key: string, value: string): number {
  return firstTerm(kind, key) + hash(value, SEED);
}

/** Returns the range of terms of all values of a key. */
export function termsOfKey(kind: TermKind, key: string): { first: number; last: number } {
  const first = firstTerm(kind, key);
  return { first, last: first + VALUES - 1 };
}

function firstTerm(kind: TermKind, key: string): number {
  return (hash(key, hash(kind, SEED)) >>> (VALUE_BITS - KEY_BITS)) * VALUES;
}

/** FNV-1a over UTF-16. */
function hash(text: string, seed: number): number {
  let state = seed;
  for (let at = 0; at < text.length; at++) {
    state = Math.imul(state ^ text.charCodeAt(at), PRIME);
  }
  return state >>> 0;
}
