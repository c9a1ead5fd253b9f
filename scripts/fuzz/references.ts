// References to ids. A request depends on the seed alone and not on earlier answers, so it names an id by its position
// in the pool. A reference is a text in place of the id in paths, queries and bodies until the request is sent.
import type { Parts } from "./breakings.ts";
import type { Operation } from "./document.ts";
import type { Pool } from "./pool.ts";

/** Beginning of a reference. No schema and no list of values has this text. */
const MARK = "\uE000id of ";

type Reference = { name: string; at: number; otherwise: unknown };

/** @param otherwise the value while the pool has no such id */
export function reference(name: string, at: number, otherwise: unknown): string {
  return MARK + JSON.stringify({ name, at, otherwise } satisfies Reference);
}

/** Returns the parts with ids of the pool, or with other values where it has none. */
export function resolveIds(parts: Parts, operation: Operation, pool: Pool): Parts {
  const resolveText = (text: string): unknown => {
    if (!text.startsWith(MARK)) return text;
    const { name, at, otherwise } = JSON.parse(text.slice(MARK.length)) as Reference;
    const ids = pool.ids(name, operation);
    const id = ids[at % ids.length];
    if (id === undefined) return otherwise;
    return Array.isArray(otherwise) ? [id] : id;
  };
  const resolveValue = (value: unknown): unknown => {
    if (typeof value === "string") return resolveText(value);
    if (Array.isArray(value)) return value.map(resolveValue);
    if (typeof value !== "object" || value === null) return value;
    return Object.fromEntries(
      Object.entries(value).map(([name, inner]) => [name, resolveValue(inner)]),
    );
  };
  return resolveValue(parts) as Parts;
}
