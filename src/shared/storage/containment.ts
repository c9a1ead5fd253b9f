import { type Column, type SQL, sql } from "drizzle-orm";
import type { Filters } from "../filters.ts";
import { isRecord } from "../guards.ts";

type Leaf = { path: string; type: string; value: unknown };

/**
 * Matches columns whose JSON object contains `wanted`: objects key by key, at any depth, other values as a
 * whole. Binds a single parameter: D1 and SQLite of objects bind at most 100.
 */
export function contains(column: Column | SQL, wanted: Record<string, unknown>): SQL {
  const leaves = leavesOf(wanted, "$");
  return sql`not exists (
    select 1 from json_each(${JSON.stringify(leaves)}) as leaf
    where json_type(${column}, leaf.value ->> 'path') is not leaf.value ->> 'type'
      or (leaf.value ->> 'type' <> 'object'
        and json_extract(${column}, leaf.value ->> 'path') is not leaf.value ->> 'value')
  )`;
}

/** Matches columns whose JSON object has none of the keys. */
export function lacks(column: Column | SQL, keys: string[]): SQL {
  return sql`not exists (
    select 1 from json_each(${column}) as kept
    where kept.key in (select value from json_each(${JSON.stringify(keys)}))
  )`;
}

/** Matches the rows that `allows` of shared/filters.ts accepts. */
export function fulfils(column: Column | SQL, filters: Filters | null): SQL | undefined {
  if (filters === null) return undefined;
  const conditions = Object.entries(filters).map(([key, filter]) => {
    const path = `$.${JSON.stringify(key)}`;
    if ("eq" in filter) return { path, type: typeOf(filter.eq), value: filter.eq };
    return { path, type: "array", items: filter.contains.map((value) => [typeOf(value), value]) };
  });
  return sql`not exists (
    select 1 from json_each(${JSON.stringify(conditions)}) as wanted
    where json_type(${column}, wanted.value ->> 'path') is not wanted.value ->> 'type'
      or (wanted.value ->> 'type' <> 'array'
        and json_extract(${column}, wanted.value ->> 'path') is not wanted.value ->> 'value')
      or exists (
        select 1 from json_each(wanted.value, '$.items') as item
        where not exists (
          select 1 from json_each(${column}, wanted.value ->> 'path') as kept
          where (kept.type is item.value ->> 0) and (kept.value is item.value ->> 1)
        )
      )
  )`;
}

function leavesOf(object: Record<string, unknown>, path: string): Leaf[] {
  return Object.entries(object).flatMap(([key, value]) => {
    const at = `${path}.${JSON.stringify(key)}`;
    if (!isRecord(value)) return [{ path: at, type: typeOf(value), value }];
    return [{ path: at, type: "object", value: null }, ...leavesOf(value, at)];
  });
}

/** Returns the name that SQLite's json_type uses. */
function typeOf(value: unknown): string {
  if (value === null) return "null";
  if (Array.isArray(value)) return "array";
  if (typeof value === "string") return "text";
  // The notation decides the type in SQLite: JSON writes the whole number -1e+21 with an exponent, so it is real.
  if (typeof value === "number") return /^-?\d+$/.test(JSON.stringify(value)) ? "integer" : "real";
  return String(value);
}
