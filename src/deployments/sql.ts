import { type Column, type SQL, sql } from "drizzle-orm";
import { among } from "../shared/sql.ts";
import type { RevisionStatus } from "./schema.ts";

export function inStatus(column: Column, statuses: readonly RevisionStatus[]): SQL {
  return among(column, statuses);
}

/** `change` over the stored object, field by field: two patches at once both stay. */
export function merged(column: Column, change: object): SQL {
  return Object.entries(change).reduce<SQL>(
    (object, [field, value]) =>
      sql`json_set(${object}, ${`$.${field}`}, json(${JSON.stringify(value)}))`,
    sql`${column}`,
  );
}

/** SQLite names what refused: `UNIQUE constraint failed: a.x, a.y`. */
export function isUniqueViolation(error: unknown, column: string): boolean {
  return isViolation(error, "UNIQUE", column);
}

/** A column that is read from the deployment's row: it is null once there is none to belong to. */
export function isOrphaned(error: unknown): boolean {
  return isViolation(error, "NOT NULL", "");
}

function isViolation(error: unknown, constraint: "UNIQUE" | "NOT NULL", column: string): boolean {
  for (let at = error; at instanceof Error; at = at.cause) {
    const isOne = at.message.includes(`${constraint} constraint failed`);
    if (isOne && at.message.includes(column)) return true;
  }
  return false;
}
