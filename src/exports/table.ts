import { sql } from "drizzle-orm";
import { index, integer, sqliteTable, text, uniqueIndex } from "drizzle-orm/sqlite-core";
import type { ScanChunk } from "../traces/scan/scan-service.ts";
import type { DestinationConfig } from "./destination-schema.ts";
import type { BulkExportStatus } from "./schema.ts";
import type { FileStatus } from "./states.ts";
import type { TableManifest, TableMetadata, UnusedFile } from "./table-state.ts";

type Compression = "none" | "gzip" | "snappy" | "zstandard";

/** Destinations. All credentials are one ciphertext; their names are readable. */
export const bulk_export_destinations = sqliteTable(
  "bulk_export_destinations",
  {
    id: text().primaryKey(),
    workspace_id: text().notNull(),
    destination_type: text().$type<"s3">().notNull(),
    display_name: text().notNull(),
    config: text({ mode: "json" }).$type<DestinationConfig>().notNull(),
    /** Style that worked when the destination or its credentials were last saved. */
    addressing_style: text().$type<"virtual" | "path">().notNull(),
    credentials_keys: text({ mode: "json" }).$type<string[]>().notNull(),
    key_id: text().notNull(),
    ciphertext: text().notNull(),
    created_at: text().notNull(),
    updated_at: text().notNull(),
  },
  (table) => [index("bulk_export_destinations_by_workspace").on(table.workspace_id, table.id)],
);

export type DestinationRow = typeof bulk_export_destinations.$inferSelect;

/** Exports and schedules; each window of a schedule is an export. */
export const bulk_exports = sqliteTable(
  "bulk_exports",
  {
    id: text().primaryKey(),
    workspace_id: text().notNull(),
    bulk_export_destination_id: text().notNull(),
    session_id: text().notNull(),
    /** Prefix of the keys of the export's objects. */
    key_base: text().notNull(),
    start_us: integer().notNull(),
    /** `null` for schedules. */
    end_us: integer(),
    interval_hours: integer(),
    filter: text(),
    export_fields: text({ mode: "json" }).$type<string[]>(),
    format_version: text().$type<"v1" | "v2_beta">().notNull(),
    compression: text().$type<Compression>().notNull(),
    late_rows: integer({ mode: "boolean" }).notNull(),
    /** Format of the table to which the windows of a schedule are appended, `null` without a table. */
    table_format: text().$type<"iceberg">(),
    /** Version of the table that added the window. Set once. Afterwards the window cannot be cancelled. */
    table_version: integer(),
    status: text().$type<BulkExportStatus>().notNull(),
    /** Message of the failure, or of the last error that an active export retries. */
    error: text(),
    source_bulk_export_id: text(),
    window_index: integer(),
    /** Next window of a schedule. `next_window_at` is the time when its export is due. */
    next_window_index: integer(),
    next_window_at: text(),
    idempotency_key: text(),
    request_sha256: text(),
    created_at: text().notNull(),
    updated_at: text().notNull(),
    /** Time when the export became RUNNING, from which the timeout counts. A retry clears it. */
    started_at: text(),
    /** Time at which the scans of the plan began. Set together with the days and files. None are added afterwards. */
    planned_at: text(),
    finished_at: text(),
    /** Newest ingest sequence of each scanned partition by `{day}/{slot}`. */
    watermarks: text({ mode: "json" }).$type<Record<string, number>>(),
    /** Time of the last message, of the last heartbeat, or of the last check of a schedule. */
    sent_at: text(),
    /** Time before which the sweep does not resume an export that met an obstacle. */
    next_attempt_at: text(),
    /** Time when the clean-up of the bucket ended, or gave up. A retry clears it. */
    cleaned_at: text(),
  },
  (table) => [
    index("bulk_exports_by_creation").on(table.workspace_id, table.created_at),
    index("bulk_exports_by_status").on(table.status, table.workspace_id),
    index("bulk_exports_by_destination").on(table.bulk_export_destination_id),
    index("bulk_exports_unclean").on(table.finished_at).where(sql`cleaned_at is null`),
    uniqueIndex("bulk_exports_window").on(table.source_bulk_export_id, table.window_index),
    uniqueIndex("bulk_exports_idempotency").on(table.workspace_id, table.idempotency_key),
  ],
);

/** Table of a schedule, from its first window on. */
export const bulk_export_tables = sqliteTable("bulk_export_tables", {
  schedule_id: text().primaryKey(),
  workspace_id: text().notNull(),
  /** Fencing token of the commit: increases with each claim and each release. */
  token: integer().notNull(),
  lease_expires_at: text(),
  /** Newest version; the bucket has it when `published_version` equals it. */
  version: integer().notNull(),
  published_version: integer().notNull(),
  /** Content of `v{version}.metadata.json`. */
  metadata: text({ mode: "json" }).$type<TableMetadata>(),
  manifests: text({ mode: "json" }).$type<TableManifest[]>().notNull(),
  unused_files: text({ mode: "json" }).$type<UnusedFile[]>().notNull(),
  updated_at: text().notNull(),
});

/** UTC day of an export. Its status derives from its files. */
export const bulk_export_runs = sqliteTable(
  "bulk_export_runs",
  {
    id: text().primaryKey(),
    bulk_export_id: text().notNull(),
    workspace_id: text().notNull(),
    start_us: integer().notNull(),
    end_us: integer().notNull(),
    created_at: text().notNull(),
  },
  (table) => [uniqueIndex("bulk_export_runs_day").on(table.bulk_export_id, table.start_us)],
);

/** Planned files. A file has the rows of one chunk. */
export const bulk_export_files = sqliteTable(
  "bulk_export_files",
  {
    id: text().primaryKey(),
    bulk_export_id: text().notNull(),
    /** `null` for files with late rows of earlier windows. */
    run_id: text(),
    workspace_id: text().notNull(),
    number: integer().notNull(),
    key: text().notNull(),
    chunk: text({ mode: "json" }).$type<ScanChunk>().notNull(),
    /** 0 for a file of a cancelled window once a later window has planned its rows. */
    rows_planned: integer().notNull(),
    status: text().$type<FileStatus>().notNull(),
    /** Fencing token: increases with each attempt. */
    token: integer().notNull(),
    retry_number: integer().notNull(),
    /** Number of the last retry; retrying the export raises it. */
    retry_limit: integer().notNull(),
    errors: text({ mode: "json" }).$type<Record<string, string>>(),
    sent_at: text(),
    lease_expires_at: text(),
    next_attempt_at: text(),
    /** Id of the last multipart upload, `null` before one and once the file is complete. */
    upload_id: text(),
    rows_written: integer().notNull(),
    bytes_written: integer().notNull(),
    sha256: text(),
    etag: text(),
    min_start_us: integer(),
    max_start_us: integer(),
    started_at: text(),
    updated_at: text().notNull(),
    finished_at: text(),
  },
  (table) => [
    uniqueIndex("bulk_export_files_key").on(table.bulk_export_id, table.key),
    index("bulk_export_files_by_status").on(table.bulk_export_id, table.status, table.number),
    index("bulk_export_files_by_run").on(table.run_id),
    index("bulk_export_files_open")
      .on(table.status, table.sent_at)
      .where(sql`status in ('WAITING', 'RUNNING')`),
  ],
);

export type TableRow = typeof bulk_export_tables.$inferSelect;
export type ExportRow = typeof bulk_exports.$inferSelect;
export type ExportRunRow = typeof bulk_export_runs.$inferSelect;
export type FileRow = typeof bulk_export_files.$inferSelect;
