import { z } from "@hono/zod-openapi";
import { namedObject, Timestamp, textField, Uuid } from "../../shared/schema.ts";
import { COMPRESSIONS, TABLE_FORMATS } from "../schema.ts";

const MAX_ROWS = 100;
const Count = z.number().int();
const KEY =
  "exports/export_id=E/tenant_id=T/session_id=S/runs/year=2026/month=11/day=20/part-00000.parquet";

export const PreviewPath = z.object({ bulk_export_id: Uuid.describe("Id of the export") });

export const PreviewQuery = z.object({
  limit: z.coerce
    .number()
    .int()
    .min(1)
    .max(MAX_ROWS)
    .default(20)
    .describe("Maximum number of rows"),
  key: z
    .string()
    .max(1024)
    .optional()
    .describe("Key of the file. Default: the first one that has rows"),
});
export type PreviewQuery = z.infer<typeof PreviewQuery>;

const Cell = z.union([
  z.string(),
  z.number(),
  z.boolean(),
  z.array(z.string().nullable()),
  z.null(),
]);

export const BulkExportPreview = namedObject("BulkExportPreview", {
  key: z.string().nullable().openapi({
    description: "Key of the file, `null` when no file has rows",
    example: KEY,
  }),
  rows_total: Count.describe("Number of rows in the file"),
  columns: z
    .array(z.string())
    .openapi({ description: "Columns of the rows", example: ["id", "name"] }),
  omitted_columns: z.array(z.string()).openapi({
    description: "Columns left out because the preview would be too large",
    example: [],
  }),
  rows: z
    .array(
      z.object({
        values: z
          .record(z.string(), Cell)
          .openapi({ description: "Values by column", example: { name: "agent" } }),
        cut: z
          .array(z.string())
          .openapi({ description: "Columns whose text or list is longer than shown", example: [] }),
      }),
    )
    .describe("First rows, in order of start time"),
});
export type BulkExportPreview = z.infer<typeof BulkExportPreview>;

const File = z.object({
  key: textField("Key of the object", KEY),
  rows: Count.describe("Number of rows"),
  bytes: Count.describe("Size of the object"),
  sha256: z
    .string()
    .nullable()
    .openapi({ description: "SHA-256 of the object in hex", example: "9f86d081884c7d65" }),
  min_start_time: Timestamp.nullable().describe("Start time of the first run"),
  max_start_time: Timestamp.nullable().describe("Start time of the last run"),
});

const LOCATION = "s3://acme-traces/exports/_tables/019a2b3c-4d5e-7f60-8a1b-2c3d4e5f6071";

const TableView = namedObject("BulkExportTable", {
  format: z.enum(TABLE_FORMATS).describe("Format of the table"),
  location: textField("URL of the table", LOCATION),
  version: Count.nullable().openapi({
    description:
      "Version that added the window, or the newest one of a schedule. `null` before the first",
    example: 3,
  }),
  snapshot_id: Count.nullable().openapi({
    description: "Snapshot of the window, `null` for a schedule and before it is in the table",
    example: 4_242_424_242_424_242,
  }),
  metadata_location: z
    .string()
    .nullable()
    .openapi({
      description:
        "URL of the metadata of the version, or of the newest one when that is deleted. `null` before the first",
      example: `${LOCATION}/metadata/v3.metadata.json`,
    }),
  statements: z
    .record(z.string(), z.string())
    .nullable()
    .openapi({
      description:
        "Statements that read the table, in the state of the window or the newest. `null` before the first version, and when the table no longer has the window's snapshot",
      example: { duckdb: `SELECT id FROM iceberg_scan('${LOCATION}');` },
    }),
});

export const BulkExportManifest = namedObject("BulkExportManifest", {
  export_id: Uuid.describe("Id of the export"),
  bucket: textField("Name of the bucket", "acme-traces"),
  compression: z.enum(COMPRESSIONS).describe("Compression of the files"),
  rows: Count.describe("Number of rows written, late ones included"),
  bytes: Count.describe("Size of the files written, late ones included"),
  files: z.array(File).describe("Files that are written so far, without `late_files`"),
  late_files: z
    .array(File)
    .describe("Files with rows that arrived too late for the files of their window"),
  schema: z
    .array(
      z.object({
        name: textField("Name of the column", "start_time"),
        type: textField("Type of the column", "timestamp"),
      }),
    )
    .describe("Columns in the order of the files"),
  table: z
    .union([TableView, z.null()])
    .describe("Table of the schedule, `null` without `table_format`"),
  statements: z
    .record(z.string(), z.string())
    .nullable()
    .openapi({
      description: "SQL that reads the files, `null` without files",
      example: { duckdb: "SELECT id FROM read_parquet('s3://acme-traces/runs/*.parquet');" },
    }),
});
export type BulkExportManifest = z.infer<typeof BulkExportManifest>;
