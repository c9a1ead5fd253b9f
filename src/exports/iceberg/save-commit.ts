import { and, eq, isNull, sql } from "drizzle-orm";
import { database } from "../../shared/context.ts";
import { bulk_export_tables, bulk_exports, type TableRow } from "../table.ts";
import { leaseLost } from "./table-lease.ts";

export type TableCommit = Pick<TableRow, "version" | "metadata" | "manifests" | "unused_files">;

/**
 * Saves the next version of a table, and its number as `table_version` of the export, in one batch.
 * @throws LeaseLost when another attempt has claimed the table, or the export has ended or is in the table already
 */
export async function saveCommit(
  env: Env,
  table: TableRow,
  export_id: string,
  commit: TableCommit,
): Promise<TableRow> {
  const db = database(env);
  const { schedule_id, token, workspace_id } = table;
  const isOpen = and(
    eq(bulk_exports.id, export_id),
    eq(bulk_exports.workspace_id, workspace_id),
    eq(bulk_exports.status, "RUNNING"),
    isNull(bulk_exports.table_version),
  );
  const isClaimed = and(
    eq(bulk_export_tables.schedule_id, schedule_id),
    eq(bulk_export_tables.token, token),
  );
  const [saved] = await db.batch([
    db
      .update(bulk_export_tables)
      .set({ ...commit, updated_at: new Date().toISOString() })
      .where(
        and(
          isClaimed,
          eq(bulk_export_tables.version, table.version),
          sql`exists (select 1 from ${bulk_exports} where ${isOpen})`,
        ),
      )
      .returning(),
    db
      .update(bulk_exports)
      .set({ table_version: commit.version })
      .where(
        and(
          isOpen,
          sql`exists (select 1 from ${bulk_export_tables}
            where ${isClaimed} and ${bulk_export_tables.version} = ${commit.version})`,
        ),
      ),
  ]);
  const [row] = saved;
  if (!row) throw leaseLost(table);
  return row;
}
