import { fnv1a } from "../shared/fnv.ts";
import type { PairSource } from "./changes.ts";
import { MAX_VALUE_CHARS } from "./limits.ts";

/** Kinds of terms. A term is a hash of kind, key and value that fits a double. */
export type TermKind = PairSource | "tag";

/** Inclusive range of terms. */
export type TermRange = { first: number; last: number };

const [VALUE_BITS, KEY_BITS] = [32, 21];
const VALUES = 2 ** VALUE_BITS;

/** Returns a term. Different values may share it, so readers test each run that they find by a term. */
export function termOf(kind: TermKind, key: string, value: string): number {
  return firstTerm(kind, key) + fnv1a(value);
}

/** Returns the term of a pair. The index has the first 250 characters of its key and of its value. */
export function pairTerm(kind: PairSource, path: string, value: string): number {
  const end = Math.min(value.length, MAX_VALUE_CHARS);
  return firstTerm(kind, path.slice(0, MAX_VALUE_CHARS)) + fnv1a(value, undefined, end);
}

export function onlyTerm(term: number): TermRange {
  return { first: term, last: term };
}

/** Returns the range of terms of all values of a key. */
export function termsOfKey(kind: TermKind, key: string): TermRange {
  const first = firstTerm(kind, key);
  return { first, last: first + VALUES - 1 };
}

function firstTerm(kind: TermKind, key: string): number {
  return (fnv1a(key, fnv1a(kind)) >>> (VALUE_BITS - KEY_BITS)) * VALUES;
}

/** Returns a term that all runs of a trace have. */
export function traceTerm(trace_id: string): number {
  return termOf("tag", "trace", trace_id);
}

export function threadTerm(thread_id: string): number {
  return termOf("tag", "thread", thread_id);
}

/** Term of runs whose root started on another day. A run keeps it when a change makes this untrue. */
export const FAR_TERM = termOf("tag", "far", "");
