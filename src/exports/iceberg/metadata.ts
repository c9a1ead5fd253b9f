import type { Column } from "../columns.ts";
import type { TableMetadata, TableSnapshot, UnusedFile } from "../table-state.ts";
import { lastColumnId, toTableSchema } from "./table-schema.ts";

/** Maximum number of snapshots, to which queries can go back. Bounds the metadata, which each commit writes as a whole. */
export const MAX_SNAPSHOTS = 1000;
/** Maximum size of the snapshots in the table's row: a row of D1 has at most 2 MB. Long keys allow fewer snapshots. */
const MAX_SNAPSHOT_BYTES = 1_500_000;
/**
 * Estimated bytes of a snapshot in the row, without two keys: the key of its manifest list, and the key of a merged
 * manifest, which stays in `unused_files` while an older snapshot needs the manifest.
 */
const SNAPSHOT_BYTES = 700;
/** Maximum number of former metadata files in the bucket, for catalogs that name one. */
export const MAX_FORMER_VERSIONS = 100;

export type NewSnapshot = {
  snapshot_id: number;
  version: number;
  manifest_list: string;
  files: number;
  rows: number;
  bytes: number;
  /** Names the export and its window. */
  properties: Record<string, string>;
};

type Table = { id: string; location: string; columns: readonly Column[] };

export function metadataFile(location: string, version: number): string {
  return `${location}/metadata/v${version}.metadata.json`;
}

/**
 * Returns the next metadata of a table. `former` is `null` for the first. Drops the oldest snapshots above the maximum.
 */
export function appendSnapshot(
  table: Table,
  former: TableMetadata | null,
  next: NewSnapshot,
  now_ms: number,
): TableMetadata {
  // Readers expect times that do not decrease.
  const at = Math.max(now_ms, former?.["last-updated-ms"] ?? 0);
  const { snapshot_id, version } = next;
  const log = { "timestamp-ms": at, "snapshot-id": snapshot_id };
  const max = maxSnapshots(next.manifest_list);
  return {
    ...(former ?? emptyTable(table)),
    "last-sequence-number": version,
    "last-updated-ms": at,
    "current-snapshot-id": snapshot_id,
    refs: { main: { "snapshot-id": snapshot_id, type: "branch" } },
    snapshots: keepLast(former?.snapshots, toSnapshot(former, next, at), max),
    "snapshot-log": keepLast(former?.["snapshot-log"], log, max),
    "metadata-log": former === null ? [] : formerVersions(table, former, version - 1),
  };
}

function maxSnapshots(manifest_list: string): number {
  const key_bytes = new TextEncoder().encode(JSON.stringify(manifest_list)).byteLength;
  return Math.min(MAX_SNAPSHOTS, Math.floor(MAX_SNAPSHOT_BYTES / (SNAPSHOT_BYTES + 2 * key_bytes)));
}

function emptyTable({ id, location, columns }: Table) {
  return {
    "format-version": 2,
    "table-uuid": id,
    location,
    "last-column-id": lastColumnId(columns),
    "current-schema-id": 0,
    schemas: [toTableSchema(columns)],
    "default-spec-id": 0,
    "partition-specs": [{ "spec-id": 0, fields: [] }],
    // Partition fields have ids from 1000. The table has none.
    "last-partition-id": 999,
    "default-sort-order-id": 0,
    "sort-orders": [{ "order-id": 0, fields: [] }],
    properties: {
      "write.metadata.delete-after-commit.enabled": "true",
      "write.metadata.previous-versions-max": `${MAX_FORMER_VERSIONS}`,
    },
  } satisfies Partial<TableMetadata>;
}

function toSnapshot(former: TableMetadata | null, next: NewSnapshot, at: number): TableSnapshot {
  const last = former?.snapshots.at(-1);
  const total = (name: string, added: number) => `${Number(last?.summary[name] ?? 0) + added}`;
  return {
    "snapshot-id": next.snapshot_id,
    ...(last && { "parent-snapshot-id": last["snapshot-id"] }),
    "sequence-number": next.version,
    "timestamp-ms": at,
    "manifest-list": next.manifest_list,
    "schema-id": 0,
    summary: {
      operation: "append",
      "added-data-files": `${next.files}`,
      "added-records": `${next.rows}`,
      "added-files-size": `${next.bytes}`,
      "total-data-files": total("total-data-files", next.files),
      "total-records": total("total-records", next.rows),
      "total-files-size": total("total-files-size", next.bytes),
      ...next.properties,
    },
  };
}

function formerVersions({ location }: Table, former: TableMetadata, version: number) {
  const entry = {
    "timestamp-ms": former["last-updated-ms"],
    "metadata-file": metadataFile(location, version),
  };
  return keepLast(former["metadata-log"], entry, MAX_FORMER_VERSIONS);
}

function keepLast<T>(items: readonly T[] | undefined, next: T, max: number): T[] {
  return [...(items ?? []), next].slice(-max);
}

/**
 * Returns the manifest lists and metadata files that the next metadata no longer names. Once it is published, they are
 * unused.
 */
export function unusedBetween(former: TableMetadata | null, next: TableMetadata): UnusedFile[] {
  if (former === null) return [];
  const kept = new Set(namedFiles(next));
  const dropped = namedFiles(former).filter((url) => !kept.has(url));
  return dropped.map((url) => ({ url, version: 0 }));
}

function namedFiles({ snapshots, "metadata-log": log }: TableMetadata): string[] {
  return [
    ...snapshots.map((snapshot) => snapshot["manifest-list"]),
    ...log.map((entry) => entry["metadata-file"]),
  ];
}

/** Returns a predicate: whether a file can be deleted once this metadata is published. */
export function isDeletable({ snapshots: [oldest] }: TableMetadata) {
  return ({ version }: UnusedFile): boolean =>
    oldest !== undefined && version <= oldest["sequence-number"];
}
