import type { Column } from "../columns.ts";
import type { TableManifest } from "../table-state.ts";
import { writeAvro } from "./avro.ts";
import { MANIFEST_ENTRY, MANIFEST_FILE } from "./avro-schemas.ts";
import { toTableSchema } from "./table-schema.ts";

/** Parquet file of a window. */
export type DataFile = {
  key: string;
  rows: number;
  bytes: number;
  min_start_us: number | null;
  max_start_us: number | null;
  /** Version and snapshot of the table that added the file. */
  version: number;
  snapshot_id: number;
};

const EXISTING = 0;
const ADDED = 1;
const DATA = 0;

type Commit = { version: number; snapshot_id: number };

/**
 * Encodes a manifest. Each entry names the version that added its file, which a merged manifest keeps. `start_time` has
 * bounds, by which readers skip files.
 */
export function encodeManifest(
  columns: readonly Column[],
  bucket_url: string,
  commit: Commit,
  files: readonly DataFile[],
): Uint8Array {
  const metadata = {
    schema: JSON.stringify(toTableSchema(columns)),
    "schema-id": "0",
    "partition-spec": "[]",
    "partition-spec-id": "0",
    "format-version": "2",
    content: "data",
  };
  const start = columns.find(({ name }) => name === "start_time");
  const entries = files.map((file) => ({
    status: file.version === commit.version ? ADDED : EXISTING,
    snapshot_id: file.snapshot_id,
    sequence_number: file.version,
    file_sequence_number: file.version,
    data_file: {
      content: DATA,
      file_path: `${bucket_url}/${file.key}`,
      file_format: "PARQUET",
      partition: {},
      record_count: file.rows,
      file_size_in_bytes: file.bytes,
      lower_bounds: boundOf(start, file.min_start_us),
      upper_bounds: boundOf(start, file.max_start_us),
      sort_order_id: 0,
    },
  }));
  return writeAvro(MANIFEST_ENTRY, metadata, entries);
}

function boundOf(column: Column | undefined, micros: number | null) {
  if (column === undefined || micros === null) return null;
  const value = new Uint8Array(8);
  new DataView(value.buffer).setBigInt64(0, BigInt(micros), true);
  return [{ key: column.id, value }];
}

type Snapshot = Commit & { parent_snapshot_id: number | null };

export function encodeManifestList(
  bucket_url: string,
  { version, snapshot_id, parent_snapshot_id }: Snapshot,
  manifests: readonly TableManifest[],
): Uint8Array {
  const metadata = {
    "snapshot-id": `${snapshot_id}`,
    "parent-snapshot-id": `${parent_snapshot_id}`,
    "sequence-number": `${version}`,
    "format-version": "2",
  };
  const entries = manifests.map((manifest) => ({
    manifest_path: `${bucket_url}/${manifest.key}`,
    manifest_length: manifest.bytes,
    partition_spec_id: 0,
    content: DATA,
    sequence_number: manifest.version,
    min_sequence_number: manifest.first_version,
    added_snapshot_id: manifest.snapshot_id,
    added_files_count: manifest.added_files,
    existing_files_count: manifest.existing_files,
    deleted_files_count: 0,
    added_rows_count: manifest.added_rows,
    existing_rows_count: manifest.existing_rows,
    deleted_rows_count: 0,
  }));
  return writeAvro(MANIFEST_FILE, metadata, entries);
}
