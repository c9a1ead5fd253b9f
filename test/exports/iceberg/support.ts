import { env } from "cloudflare:workers";
import { and, eq } from "drizzle-orm";
import { spawnWindows } from "../../../src/exports/progress/schedule.ts";
import type { BulkExport } from "../../../src/exports/schema.ts";
import { bulk_export_tables, bulk_exports, type TableRow } from "../../../src/exports/table.ts";
import type { TableMetadata } from "../../../src/exports/table-state.ts";
import { database } from "../../../src/shared/context.ts";
import { call, type Exporter, readObject, readRow } from "../support/exports.ts";
import { readAvro } from "./avro-reader.ts";

export const START = "2026-05-05T00:00:00Z";
const HOUR_MS = 3_600_000;
const db = database(env);

export const hour = (n: number) => new Date(Date.parse(START) + n * HOUR_MS).toISOString();

/** Creates a schedule with a table, and the exports of its first windows. */
export async function scheduleTable(
  ours: Exporter,
  session_id: string,
  windows: number,
  fields: Record<string, unknown> = {},
): Promise<{ schedule: BulkExport; exports: string[] }> {
  const { status, body: schedule } = await call<BulkExport>(ours, "", "POST", {
    bulk_export_destination_id: ours.destination_id,
    session_id,
    start_time: START,
    interval_hours: 1,
    table_format: "iceberg",
    ...fields,
  });
  if (status !== 200) throw new Error(JSON.stringify(schedule));
  if (windows > 0) await spawnWindow(schedule.id, windows - 1);
  const exports = Array.from({ length: windows }, (_, n) => windowOf(schedule.id, n));
  return { schedule, exports: await Promise.all(exports) };
}

/** Creates the exports of the windows up to this one, and returns its id. */
export async function spawnWindow(schedule_id: string, index: number): Promise<string> {
  await spawnWindows(env, new Date(Date.parse(hour(index + 1)) + 600_000));
  return windowOf(schedule_id, index);
}

async function windowOf(schedule_id: string, index: number): Promise<string> {
  const isWindow = and(
    eq(bulk_exports.source_bulk_export_id, schedule_id),
    eq(bulk_exports.window_index, index),
  );
  const [row] = await db.select().from(bulk_exports).where(isWindow);
  if (!row) throw new Error(`There is no window ${index}`);
  return row.id;
}

export async function readTable(schedule_id: string): Promise<TableRow> {
  const [row] = await db
    .select()
    .from(bulk_export_tables)
    .where(eq(bulk_export_tables.schedule_id, schedule_id));
  if (!row) throw new Error(`There is no table ${schedule_id}`);
  return row;
}

async function textOf(key: string): Promise<string> {
  return new TextDecoder().decode(await readObject(key));
}

/** Reads the bucket as a query engine does, from the hint. */
export async function openTable(schedule_id: string) {
  const { key_base } = await readRow(schedule_id);
  const folder = `${key_base}_tables/${schedule_id}/metadata`;
  const version = Number(await textOf(`${folder}/version-hint.text`));
  const metadata = JSON.parse(await textOf(`${folder}/v${version}.metadata.json`)) as TableMetadata;
  return { version, metadata, folder };
}

type Entry = {
  status: number;
  snapshot_id: number;
  sequence_number: number;
  data_file: { file_path: string; record_count: number; file_size_in_bytes: number };
};
type ListEntry = { manifest_path: string; manifest_length: number; min_sequence_number: number };

/** Reads the manifests and files of a snapshot, by default the newest. */
export async function scan(metadata: TableMetadata, snapshot_id = metadata["current-snapshot-id"]) {
  const snapshot = metadata.snapshots.find((each) => each["snapshot-id"] === snapshot_id);
  if (!snapshot) throw new Error(`There is no snapshot ${snapshot_id}`);
  const manifests = await avro<ListEntry>(snapshot["manifest-list"]);
  const entries = await Promise.all(
    manifests.map(({ manifest_path }) => avro<Entry>(manifest_path)),
  );
  const files = entries.flat().map((entry) => ({
    key: keyOf(entry.data_file.file_path),
    rows: entry.data_file.record_count,
    bytes: entry.data_file.file_size_in_bytes,
    status: entry.status,
    version: entry.sequence_number,
    snapshot_id: entry.snapshot_id,
  }));
  return { snapshot, manifests, files, rows: files.reduce((sum, { rows }) => sum + rows, 0) };
}

export function keyOf(url: string): string {
  return url.replace(/^s3:\/\/[^/]+\//, "");
}

async function avro<T>(url: string): Promise<T[]> {
  return readAvro(await readObject(keyOf(url))).records as T[];
}
