import { toIso } from "../../shared/times.ts";
import type { Column } from "../columns.ts";
import { tableFolder } from "../keys.ts";
import type { ExportRow, TableRow } from "../table.ts";
import type { TableManifest, TableMetadata } from "../table-state.ts";
import { snapshotIdOf } from "./data-files.ts";
import { type DataFile, encodeManifest, encodeManifestList } from "./manifests.ts";
import type { Merge } from "./merge.ts";
import { appendSnapshot, isDeletable, unusedBetween } from "./metadata.ts";
import type { TableBucket } from "./publish.ts";
import type { TableCommit } from "./save-commit.ts";

type Window = {
  table: TableRow;
  row: ExportRow;
  version: number;
  columns: readonly Column[];
  added: readonly DataFile[];
  merge: Merge & { files: readonly DataFile[] };
};

const AVRO = { "Content-Type": "application/octet-stream" };

/**
 * Writes the manifests of a window, and returns the version of the table that has the window. Each attempt of a window at
 * a version writes the same bytes to the same keys.
 */
export async function prepareCommit(bucket: TableBucket, window: Window): Promise<TableCommit> {
  const { merged, kept, files } = window.merge;
  const manifests = [
    ...kept,
    ...(await putManifest(bucket, window, "merged", files, (merged[0]?.level ?? 0) + 1)),
    ...(await putManifest(bucket, window, "added", window.added, 0)),
  ];
  const list = await putManifestList(bucket, window, manifests);
  const metadata = nextMetadata(bucket, window, list);
  return {
    version: window.version,
    metadata,
    manifests,
    unused_files: unusedAfter(bucket, window, metadata),
  };
}

/** Writes a manifest and returns it in a list. Writes nothing without files, and returns an empty list. */
async function putManifest(
  { client, bucket_url }: TableBucket,
  window: Window,
  kind: "merged" | "added",
  files: readonly DataFile[],
  level: number,
): Promise<TableManifest[]> {
  const [first, last] = [files[0], files.at(-1)];
  if (first === undefined || last === undefined) return [];
  const commit = commitOf(window);
  const key = `${fileBase(window)}-${kind}.avro`;
  const body = encodeManifest(window.columns, bucket_url, commit, files);
  await client.putObject(key, body, AVRO);
  const none = { added_files: 0, added_rows: 0, existing_files: 0, existing_rows: 0 };
  const counts =
    kind === "added"
      ? { added_files: files.length, added_rows: rowsOf(files) }
      : { existing_files: files.length, existing_rows: rowsOf(files) };
  const range = { first_version: first.version, last_version: last.version };
  return [{ key, bytes: body.byteLength, level, ...range, ...commit, ...none, ...counts }];
}

async function putManifestList(
  { client, bucket_url }: TableBucket,
  window: Window,
  manifests: readonly TableManifest[],
): Promise<string> {
  const key = `${fileBase(window)}-snapshot.avro`;
  const parent_snapshot_id = window.table.metadata?.["current-snapshot-id"] ?? null;
  const snapshot = { ...commitOf(window), parent_snapshot_id };
  await client.putObject(key, encodeManifestList(bucket_url, snapshot, manifests), AVRO);
  return `${bucket_url}/${key}`;
}

function nextMetadata(
  { bucket_url }: TableBucket,
  { table, row, version, columns, added }: Window,
  manifest_list: string,
): TableMetadata {
  const { schedule_id, metadata } = table;
  const location = `${bucket_url}/${tableFolder(row, schedule_id)}`;
  const snapshot = {
    snapshot_id: snapshotIdOf(row.id),
    version,
    manifest_list,
    files: added.length,
    rows: rowsOf(added),
    bytes: added.reduce((sum, { bytes }) => sum + bytes, 0),
    properties: {
      "heddle.export-id": row.id,
      "heddle.window-index": `${row.window_index}`,
      "heddle.window-start": toIso(row.start_us),
      "heddle.window-end": toIso(row.end_us ?? row.start_us),
    },
  };
  return appendSnapshot({ id: schedule_id, location, columns }, metadata, snapshot, Date.now());
}

/**
 * Returns the unused files of the next version. Omits files that the publication of the former version tried to delete.
 */
function unusedAfter({ bucket_url }: TableBucket, window: Window, next: TableMetadata) {
  const { table, version, merge } = window;
  const { metadata, unused_files } = table;
  const isGone = metadata === null ? () => false : isDeletable(metadata);
  return [
    ...unused_files.filter((file) => !isGone(file)),
    ...unusedBetween(metadata, next),
    ...merge.merged.map(({ key }) => ({ url: `${bucket_url}/${key}`, version })),
  ];
}

function commitOf({ row, version }: Window) {
  return { version, snapshot_id: snapshotIdOf(row.id) };
}

function fileBase({ table, row, version }: Window): string {
  return `${tableFolder(row, table.schedule_id)}/metadata/${version}-${row.id}`;
}

function rowsOf(files: readonly DataFile[]): number {
  return files.reduce((sum, { rows }) => sum + rows, 0);
}
