import { type Column, type SQL, sql } from "drizzle-orm";
import type { SQLiteTable } from "drizzle-orm/sqlite-core";
import type { Database } from "../context.ts";

/** One parameter however many values: D1 binds at most 100. */
export function among(column: Column, values: readonly string[]): SQL {
  return sql`${column} in (select value from json_each(${JSON.stringify(values)}))`;
}

/** Deletes rows that are so, at most `limit` of them; true once none is left. */
export async function deleteSome(
  db: Database,
  table: SQLiteTable,
  isSo: SQL,
  limit: number,
): Promise<boolean> {
  const some = sql`select rowid from ${table} where ${isSo} limit ${limit}`;
  const { meta } = await db.run(sql`delete from ${table} where rowid in (${some})`);
  return meta.changes < limit;
}

/** SQLite names what refused: `UNIQUE constraint failed: a.x, a.y`. */
export function isUniqueViolation(error: unknown, column: string): boolean {
  return isViolation(error, "UNIQUE", column);
}

/** A column that is read from the deployment's row: it is null once there is none to belong to. */
export function isOrphaned(error: unknown): boolean {
  return isViolation(error, "NOT NULL", "");
}

/** It names a row that is not there, or is named by one that is. */
export function isForeignKeyViolation(error: unknown): boolean {
  return isViolation(error, "FOREIGN KEY", "");
}

type Constraint = "UNIQUE" | "NOT NULL" | "FOREIGN KEY";

function isViolation(error: unknown, constraint: Constraint, column: string): boolean {
  for (let at = error; at instanceof Error; at = at.cause) {
    const isOne = at.message.includes(`${constraint} constraint failed`);
    if (isOne && at.message.includes(column)) return true;
  }
  return false;
}
