// State of a table of Iceberg, format version 2, as D1 stores it.

export type TableSchema = {
  type: "struct";
  "schema-id": number;
  "identifier-field-ids": number[];
  fields: TableField[];
};

export type TableField = {
  id: number;
  name: string;
  required: boolean;
  type:
    | string
    | { type: "list"; "element-id": number; element: string; "element-required": boolean };
};

/** Version of a table that one window made. */
export type TableSnapshot = {
  "snapshot-id": number;
  "parent-snapshot-id"?: number;
  "sequence-number": number;
  "timestamp-ms": number;
  "manifest-list": string;
  "schema-id": number;
  summary: Record<string, string>;
};

type LogEntry = { "timestamp-ms": number; "snapshot-id": number };
type FormerVersion = { "timestamp-ms": number; "metadata-file": string };

/** Metadata file of Iceberg's format version 2. */
export type TableMetadata = {
  "format-version": 2;
  "table-uuid": string;
  location: string;
  "last-sequence-number": number;
  "last-updated-ms": number;
  "last-column-id": number;
  "current-schema-id": number;
  schemas: TableSchema[];
  "default-spec-id": number;
  "partition-specs": { "spec-id": number; fields: [] }[];
  "last-partition-id": number;
  "default-sort-order-id": number;
  "sort-orders": { "order-id": number; fields: [] }[];
  properties: Record<string, string>;
  "current-snapshot-id": number;
  refs: Record<string, { "snapshot-id": number; type: "branch" }>;
  snapshots: TableSnapshot[];
  "snapshot-log": LogEntry[];
  "metadata-log": FormerVersion[];
};

/** Manifest of the current snapshot. It has the files of a range of versions. */
export type TableManifest = {
  key: string;
  bytes: number;
  /**
   * 0 for the files of one window, increased by each merge. Manifests that are too large to merge rise without a merge.
   */
  level: number;
  first_version: number;
  last_version: number;
  /** Version and snapshot that added the manifest. */
  version: number;
  snapshot_id: number;
  added_files: number;
  added_rows: number;
  existing_files: number;
  existing_rows: number;
};

/** File that no snapshot needs once the oldest snapshot has this `version` or a later one. */
export type UnusedFile = { url: string; version: number };
