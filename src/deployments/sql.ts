import { type Column, type SQL, sql } from "drizzle-orm";
import type { RevisionStatus } from "./schema.ts";

/** One parameter however many values: D1 binds at most 100. */
export function inStatus(column: Column, statuses: readonly RevisionStatus[]): SQL {
  return sql`${column} in (select value from json_each(${JSON.stringify(statuses)}))`;
}

/** `change` over the stored object, field by field: two patches at once both stay. */
export function merged(column: Column, change: object): SQL {
  return Object.entries(change).reduce<SQL>(
    (object, [field, value]) =>
      sql`json_set(${object}, ${`$.${field}`}, json(${JSON.stringify(value)}))`,
    sql`${column}`,
  );
}

/** SQLite names the columns of the index that refused: `UNIQUE constraint failed: a.x, a.y`. */
export function isUniqueViolation(error: unknown, column: string): boolean {
  for (let at = error; at instanceof Error; at = at.cause) {
    if (at.message.includes("UNIQUE constraint failed") && at.message.includes(column)) return true;
  }
  return false;
}
