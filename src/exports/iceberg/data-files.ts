import { and, asc, between, eq, gt } from "drizzle-orm";
import { database } from "../../shared/context.ts";
import { sha256Hex } from "../../shared/crypto/crypto.ts";
import { bulk_export_files, bulk_exports, type FileRow, type TableRow } from "../table.ts";
import type { TableManifest } from "../table-state.ts";
import type { DataFile } from "./manifests.ts";

/** JSON numbers of most readers are exact up to 53 bits. */
const SNAPSHOT_HEX = 13;

/** Derives the id of a snapshot from the export, so that each attempt uses the same id. */
export function snapshotIdOf(export_id: string): number {
  return Number.parseInt(sha256Hex(export_id).slice(0, SNAPSHOT_HEX), 16);
}

type Written = Pick<
  FileRow,
  "key" | "rows_written" | "bytes_written" | "min_start_us" | "max_start_us"
>;

export function toDataFile(file: Written, version: number, export_id: string): DataFile {
  const { key, rows_written, bytes_written, min_start_us, max_start_us } = file;
  return {
    key,
    rows: rows_written,
    bytes: bytes_written,
    min_start_us,
    max_start_us,
    version,
    snapshot_id: snapshotIdOf(export_id),
  };
}

/** Reads the files of consecutive manifests from D1. */
export async function readDataFiles(
  env: Env,
  { schedule_id, workspace_id }: TableRow,
  manifests: readonly TableManifest[],
): Promise<DataFile[]> {
  const [first, last] = [manifests[0], manifests.at(-1)];
  if (first === undefined || last === undefined) return [];
  const files = bulk_export_files;
  const rows = await database(env)
    .select({
      key: files.key,
      rows_written: files.rows_written,
      bytes_written: files.bytes_written,
      min_start_us: files.min_start_us,
      max_start_us: files.max_start_us,
      version: bulk_exports.table_version,
      export_id: bulk_exports.id,
    })
    .from(bulk_exports)
    .innerJoin(files, eq(files.bulk_export_id, bulk_exports.id))
    .where(
      and(
        eq(bulk_exports.source_bulk_export_id, schedule_id),
        eq(bulk_exports.workspace_id, workspace_id),
        between(bulk_exports.table_version, first.first_version, last.last_version),
        gt(files.rows_written, 0),
      ),
    )
    .orderBy(asc(bulk_exports.table_version), asc(files.number));
  return rows.flatMap(({ version, export_id, ...file }) =>
    version === null ? [] : [toDataFile(file, version, export_id)],
  );
}
