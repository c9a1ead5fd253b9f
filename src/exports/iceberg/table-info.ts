import { and, eq } from "drizzle-orm";
import { database } from "../../shared/context.ts";
import { selectColumns } from "../columns.ts";
import { tableFolder } from "../keys.ts";
import { bulk_export_tables, bulk_exports, type ExportRow } from "../table.ts";
import { snapshotIdOf } from "./data-files.ts";
import { metadataFile } from "./metadata.ts";
import { tableStatements } from "./statements.ts";

/**
 * Returns the table that an export belongs to: its newest version for a schedule, the version that added it for a window.
 * @returns `null` without a table
 */
export async function readTableInfo(env: Env, row: ExportRow, bucket_url: string) {
  if (row.table_format === null) return null;
  const schedule_id = row.source_bulk_export_id ?? row.id;
  const location = `${bucket_url}/${tableFolder(row, schedule_id)}`;
  const info = { format: row.table_format, location };
  const version = await versionOf(env, row);
  if (version === null) {
    return { ...info, version, snapshot_id: null, metadata_location: null, statements: null };
  }
  const snapshot_id = row.source_bulk_export_id === null ? null : snapshotIdOf(row.id);
  const columns = selectColumns(row.export_fields);
  return {
    ...info,
    version,
    snapshot_id,
    metadata_location: metadataFile(location, version),
    statements: tableStatements(columns, { location, version, snapshot_id }),
  };
}

/** Reads the version of a window again: `addToTable` sets it after the caller has read the row. */
async function versionOf(env: Env, row: ExportRow): Promise<number | null> {
  if (row.source_bulk_export_id !== null) {
    const [found] = await database(env)
      .select({ version: bulk_exports.table_version })
      .from(bulk_exports)
      .where(and(eq(bulk_exports.id, row.id), eq(bulk_exports.workspace_id, row.workspace_id)));
    return found?.version ?? null;
  }
  const [table] = await database(env)
    .select({ version: bulk_export_tables.published_version })
    .from(bulk_export_tables)
    .where(
      and(
        eq(bulk_export_tables.schedule_id, row.id),
        eq(bulk_export_tables.workspace_id, row.workspace_id),
      ),
    );
  // 0: no version is published yet.
  return table?.version || null;
}
