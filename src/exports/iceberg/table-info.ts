import { and, eq, sql } from "drizzle-orm";
import { database } from "../../shared/context.ts";
import { selectColumns } from "../columns.ts";
import { tableFolder } from "../keys.ts";
import { bulk_export_tables, bulk_exports, type ExportRow } from "../table.ts";
import { snapshotIdOf } from "./data-files.ts";
import { MAX_FORMER_VERSIONS, metadataFile } from "./metadata.ts";
import { tableStatements } from "./statements.ts";

/**
 * Describes the table of an export: for a schedule the newest published version, for a window the version that added the
 * window. Fields of the version are `null` before it exists.
 * @returns `null` for an export without a table
 */
export async function readTableInfo(env: Env, row: ExportRow, bucket_url: string) {
  if (row.table_format === null) return null;
  const schedule_id = row.source_bulk_export_id ?? row.id;
  const location = `${bucket_url}/${tableFolder(row, schedule_id)}`;
  const info = { format: row.table_format, location };
  const versions = await readVersions(env, row, schedule_id);
  if (versions === null) {
    const none = { version: null, metadata_location: null, statements: null };
    return { ...info, ...none, snapshot_id: null };
  }
  const { version, metadata_version, has_snapshot } = versions;
  const snapshot_id = row.source_bulk_export_id === null ? null : snapshotIdOf(row.id);
  const table = { location, version, metadata_version, snapshot_id };
  return {
    ...info,
    version,
    snapshot_id,
    metadata_location: metadataFile(location, metadata_version),
    statements: has_snapshot ? tableStatements(selectColumns(row.export_fields), table) : null,
  };
}

type Versions = {
  version: number;
  /** Version whose metadata file is named: that of a window, or the newest when the file of the window is deleted. */
  metadata_version: number;
  /** Whether the newest metadata still has the snapshot of the version. */
  has_snapshot: boolean;
};

/** @returns `null` before the first version, and for a window that is not in the table */
async function readVersions(
  env: Env,
  row: ExportRow,
  schedule_id: string,
): Promise<Versions | null> {
  const table = await readTable(env, row, schedule_id);
  if (table === undefined) return null;
  const { published_version, oldest_snapshot } = table;
  if (row.source_bulk_export_id === null) {
    if (published_version === 0) return null;
    return {
      version: published_version,
      metadata_version: published_version,
      has_snapshot: true,
    };
  }
  const version = await windowVersion(env, row);
  if (version === null || version > published_version) return null;
  const isKept = version >= table.version - MAX_FORMER_VERSIONS;
  return {
    version,
    metadata_version: isKept ? version : published_version,
    has_snapshot: version >= (oldest_snapshot ?? 0),
  };
}

async function readTable(env: Env, { workspace_id }: ExportRow, schedule_id: string) {
  const { version, published_version, metadata } = bulk_export_tables;
  const [table] = await database(env)
    .select({
      version,
      published_version,
      oldest_snapshot: sql<number | null>`${metadata} ->> '$.snapshots[0]."sequence-number"'`,
    })
    .from(bulk_export_tables)
    .where(
      and(
        eq(bulk_export_tables.schedule_id, schedule_id),
        eq(bulk_export_tables.workspace_id, workspace_id),
      ),
    );
  return table;
}

/** Reads the row again: `addToTable` sets the version after the caller has read it. */
async function windowVersion(env: Env, row: ExportRow): Promise<number | null> {
  const [found] = await database(env)
    .select({ version: bulk_exports.table_version })
    .from(bulk_exports)
    .where(and(eq(bulk_exports.id, row.id), eq(bulk_exports.workspace_id, row.workspace_id)));
  return found?.version ?? null;
}
