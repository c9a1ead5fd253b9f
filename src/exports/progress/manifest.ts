import { toIso } from "../../shared/times.ts";
import { selectColumns } from "../columns.ts";
import type { readTableInfo } from "../iceberg/table-info.ts";
import { rootOf, runsFolder } from "../keys.ts";
import { schemaStatements } from "../schema-statements.ts";
import type { ExportRow, FileRow } from "../table.ts";

const MANIFEST_VERSION = 1;

type ManifestTarget = {
  bucket_name: string;
  bucket_url: string;
  table: Awaited<ReturnType<typeof readTableInfo>>;
};

/** Lists each object with rows, bytes and hash, and the request, so that readers can verify an export. */
export function toManifest(
  row: ExportRow,
  files: FileRow[],
  { bucket_name, bucket_url, table }: ManifestTarget,
) {
  const columns = selectColumns(row.export_fields);
  const [inTime, late] = [files.filter(isInTime), files.filter((file) => !isInTime(file))];
  const location = `${bucket_url}/${runsFolder(rootOf(row))}`;
  return {
    manifest_version: MANIFEST_VERSION,
    export_id: row.id,
    tenant_id: row.workspace_id,
    session_id: row.session_id,
    source_bulk_export_id: row.source_bulk_export_id,
    window_index: row.window_index,
    start_time: toIso(row.start_us),
    end_time: row.end_us === null ? null : toIso(row.end_us),
    filter: row.filter,
    export_fields: row.export_fields,
    format: "Parquet",
    format_version: row.format_version,
    compression: row.compression,
    planned_at: row.planned_at,
    watermark: watermarkOf(row),
    watermarks: row.watermarks ?? {},
    bucket: bucket_name,
    rows: sum(files.map(({ rows_written }) => rows_written)),
    bytes: sum(files.map(({ bytes_written }) => bytes_written)),
    files: inTime.map(toEntry),
    late_files: late.map(toEntry),
    schema: columns.map(({ name, type }) => ({ name, type })),
    table,
    statements: files.length === 0 ? null : schemaStatements(columns, location),
  };
}

function isInTime({ run_id }: FileRow): boolean {
  return run_id !== null;
}

/** Returns the time of the newest change in the planned partitions, `null` without any. Sequences are microseconds. */
function watermarkOf({ watermarks }: ExportRow): string | null {
  const newest = Object.values(watermarks ?? {}).reduce((a, b) => Math.max(a, b), 0);
  return newest === 0 ? null : toIso(newest);
}

function toEntry(file: FileRow) {
  const { key, rows_written, bytes_written, sha256, min_start_us, max_start_us } = file;
  return {
    key,
    rows: rows_written,
    bytes: bytes_written,
    sha256,
    min_start_time: min_start_us === null ? null : toIso(min_start_us),
    max_start_time: max_start_us === null ? null : toIso(max_start_us),
  };
}

function sum(numbers: number[]): number {
  return numbers.reduce((total, number) => total + number, 0);
}
