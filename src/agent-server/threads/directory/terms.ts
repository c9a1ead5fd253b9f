import type { Filters } from "../../../shared/filters.ts";
import { isRecord } from "../../../shared/guards.ts";

/** Limits the rows that one thread adds. */
const MAX_TERMS = 50;
/** Longer terms are cut. Several values may then share a term, because candidates are compared exactly. */
const MAX_CHARACTERS = 128;

/** Term of threads that have more than `MAX_TERMS`: each search by terms takes them as candidates. */
export const OVERFLOW = "*";

type Json = Record<string, unknown>;

/** Returns the terms by which a thread is found: each value of its metadata, and the items of its top-level lists. */
export function termsOf(metadata: Json): string[] {
  const terms = [...new Set([...leaves(metadata, []), ...items(metadata)])];
  return terms.length <= MAX_TERMS ? terms : [...terms.slice(0, MAX_TERMS), OVERFLOW];
}

/** Returns terms that each matching thread has, unless it has `OVERFLOW`. */
export function termsOfQuery(metadata: Json | undefined, filters: Filters | null): string[] {
  const filtered = Object.entries(filters ?? {}).flatMap(([key, filter]) =>
    "eq" in filter
      ? [toTerm([key], filter.eq)]
      : filter.contains.map((value) => toItemTerm(key, value)),
  );
  return [...new Set([...leaves(metadata ?? {}, []), ...filtered])].slice(0, MAX_TERMS);
}

function leaves(object: Json, path: string[]): string[] {
  return Object.entries(object).flatMap(([key, value]) => {
    const at = [...path, key];
    return isRecord(value) ? leaves(value, at) : [toTerm(at, value)];
  });
}

/** Authorization filters match items of lists at the top level. */
function items(metadata: Json): string[] {
  return Object.entries(metadata).flatMap(([key, value]) =>
    Array.isArray(value) ? value.map((item) => toItemTerm(key, item)) : [],
  );
}

function toTerm(path: string[], value: unknown): string {
  return `${path.join(".")}=${JSON.stringify(value)}`.slice(0, MAX_CHARACTERS);
}

function toItemTerm(key: string, item: unknown): string {
  return toTerm([key, "[]"], item);
}
