import type { Filters } from "../../../shared/filters.ts";
import { isRecord } from "../../../shared/guards.ts";

/** Limits the rows that one thread adds, and the terms of a query. */
const MAX_TERMS = 50;
/** Longer terms are cut, so that several values may share one: searches compare the whole values of candidates. */
const MAX_CHARACTERS = 128;

/** Term of threads with more than `MAX_TERMS` terms. These threads are candidates of each search by terms. */
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

/** Returns the terms of items of top-level lists, which authorization filters match. */
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
