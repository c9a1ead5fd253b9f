import type { PairKind } from "./changes.ts";

/** What rows are looked up by: a kind's key and value, or a tag, as one number that a double holds. */
export type TermKind = PairKind | "tag";

const [VALUE_BITS, KEY_BITS] = [32, 21];
const VALUES = 2 ** VALUE_BITS;
const SEED = 0x811c9dc5;
const PRIME = 0x01000193;

/** Two texts may have one term: what it finds is looked at once more. */
export function termOf(kind: TermKind, key: string, value: string): number {
  return firstTerm(kind, key) + hash(value, SEED);
}

/** The terms of all values of a key. */
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
