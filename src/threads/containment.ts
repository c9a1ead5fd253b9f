import { type Column, type SQL, sql } from "drizzle-orm";

type Leaf = { path: string; type: string; value: unknown };

/**
 * Whether the JSON object in a column contains `wanted`: objects key by key, at any depth; everything
 * else as a whole. One parameter however much is wanted: D1 binds at most 100.
 */
export function contains(column: Column, wanted: Record<string, unknown>): SQL {
  const leaves = leavesOf(wanted, "$");
  return sql`not exists (
    select 1 from json_each(${JSON.stringify(leaves)}) as leaf
    where json_type(${column}, leaf.value ->> 'path') is not leaf.value ->> 'type'
      or (leaf.value ->> 'type' <> 'object'
        and json_extract(${column}, leaf.value ->> 'path') is not leaf.value ->> 'value')
  )`;
}

function leavesOf(object: Record<string, unknown>, path: string): Leaf[] {
  return Object.entries(object).flatMap(([key, value]) => {
    const at = `${path}.${JSON.stringify(key)}`;
    if (!isObject(value)) return [{ path: at, type: typeOf(value), value }];
    return [{ path: at, type: "object", value: null }, ...leavesOf(value, at)];
  });
}

/** As SQLite's json_type names it. */
function typeOf(value: unknown): string {
  if (value === null) return "null";
  if (Array.isArray(value)) return "array";
  if (typeof value === "string") return "text";
  if (typeof value === "number") return Number.isInteger(value) ? "integer" : "real";
  return String(value);
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
