import { and, type Column, eq, getTableColumns, type SQL, sql } from "drizzle-orm";
import type { SQLiteTable } from "drizzle-orm/sqlite-core";
import type { Caller, Database } from "../context.ts";

/** Maximum number of ids in one parameter: a value of D1 and of objects has at most 2 MB. */
export const MAX_IDS = 10_000;

/** Time of a statement by the clock of the database, as `toISOString` writes it. */
export const DATABASE_TIME = sql<string>`strftime('%Y-%m-%dT%H:%M:%fZ', 'now')`;

/** Matches a column with one of the values. Binds them as one parameter: D1 and objects allow 100. */
export function among(column: Column | SQL, values: readonly string[]): SQL {
  return sql`${column} in (select value from json_each(${JSON.stringify(values)}))`;
}

type OfWorkspace = { caller: Pick<Caller, "workspace_id"> };

/** Matches the rows of the caller's workspace. Those of others look as if they did not exist. */
export function inWorkspace({ caller }: OfWorkspace, table: { workspace_id: Column }): SQL {
  return eq(table.workspace_id, caller.workspace_id);
}

/** Matches the row of an id in the caller's workspace. */
export function ownRow(
  scope: OfWorkspace,
  table: { id: Column; workspace_id: Column },
  id: string,
): SQL | undefined {
  return and(eq(table.id, id), inWorkspace(scope, table));
}

/** Deletes at most `limit` matching rows. Returns whether none remain. */
export async function deleteSome(
  db: Database,
  table: SQLiteTable,
  where: SQL,
  limit: number,
): Promise<boolean> {
  const some = sql`select rowid from ${table} where ${where} limit ${limit}`;
  const { meta } = await db.run(sql`delete from ${table} where rowid in (${some})`);
  return meta.changes < limit;
}

type RowLimit = { limit: number; where: SQL | undefined };

/**
 * Inserts a row while fewer than `limit` rows match. Two callers at the same moment cannot both insert the last one.
 *
 * @returns `undefined` when the limit is reached
 */
export async function insertBelow<Table extends SQLiteTable>(
  db: Database,
  table: Table,
  row: Table["$inferInsert"],
  { limit, where }: RowLimit,
): Promise<Table["$inferSelect"] | undefined> {
  const given: Record<string, unknown> = row;
  const values = Object.entries(getTableColumns(table)).map(
    ([name, column]) => sql`${sql.param(given[name] ?? column.default ?? null, column)}`,
  );
  const present = sql`select count(*) from ${table} where ${where}`;
  const [inserted] = await db
    .insert(table)
    .select(sql`select ${sql.join(values, sql`, `)} where (${present}) < ${limit}`)
    .returning();
  return inserted;
}

/** Whether any row matches. A cheap check before a statement with many ids. */
export async function hasSome(db: Database, table: SQLiteTable, where: SQL): Promise<boolean> {
  const found = await db.select({ one: sql`1` }).from(table).where(where).limit(1);
  return found.length > 0;
}

type Tasks = SQLiteTable & { id: Column; workspace_id: Column };
type DueTasks = { where: SQL | undefined; by: Column; limit: number };

/** Matches the first due rows by time, in turns of the workspaces: none starves the others. */
export function isInTurn(table: Tasks, { where, by, limit }: DueTasks): SQL {
  return sql`${table.id} in (
    select id from (
      select ${table.id} as id, ${by} as due_at,
        row_number() over (partition by ${table.workspace_id} order by ${by}) as turn
      from ${table} where ${where}
    )
    order by turn, due_at limit ${limit}
  )`;
}

/** Whether a unique index with the column refused a row. SQLite's message is `UNIQUE constraint failed: a.x, a.y`. */
export function isUniqueViolation(error: unknown, column: string): boolean {
  return isViolation(error, "UNIQUE", column);
}

/**
 * Whether a NOT NULL constraint failed. Columns that a statement reads from a deployment's row are null once it is
 * deleted.
 */
export function isOrphaned(error: unknown): boolean {
  return isViolation(error, "NOT NULL", "");
}

/** Whether a row references a missing row, or a deleted row is still referenced. */
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
