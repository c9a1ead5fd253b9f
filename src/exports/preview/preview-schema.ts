import { z } from "@hono/zod-openapi";
import { Timestamp, Uuid } from "../../shared/schema.ts";
import { COMPRESSIONS } from "../schema.ts";

const MAX_ROWS = 100;
const Count = z.number().int();
const KEY = "exports/export_id=E/tenant_id=T/session_id=S/runs/year=2026/month=11/day=20/0.parquet";

export const PreviewPath = z.object({ bulk_export_id: Uuid.describe("Id of the export") });

export const PreviewQuery = z.object({
  limit: z.coerce.number().int().min(1).max(MAX_ROWS).default(20).describe("Number of rows"),
  key: z
    .string()
    .max(1024)
    .optional()
    .openapi({ description: "Key of the file. Default: the first one that has rows" }),
});
export type PreviewQuery = z.infer<typeof PreviewQuery>;

const Cell = z.union([
  z.string(),
  z.number(),
  z.boolean(),
  z.array(z.string().nullable()),
  z.null(),
]);

export const BulkExportPreview = z
  .object({
    key: z.string().nullable().openapi({
      description: "Key of the file, `null` when no file has rows",
      example: KEY,
    }),
    rows_total: Count.describe("Number of rows in the file"),
    columns: z
      .array(z.string())
      .openapi({ description: "Columns of the rows", example: ["id", "name"] }),
    omitted_columns: z
      .array(z.string())
      .openapi({ description: "Columns that are too large for a preview", example: [] }),
    rows: z
      .array(
        z.object({
          values: z
            .record(z.string(), Cell)
            .openapi({ description: "Values by column", example: { name: "agent" } }),
          cut: z
            .array(z.string())
            .openapi({ description: "Columns whose text is longer than shown", example: [] }),
        }),
      )
      .describe("First rows, in order of start time"),
  })
  .openapi("BulkExportPreview");
export type BulkExportPreview = z.infer<typeof BulkExportPreview>;

const File = z.object({
  key: z.string().openapi({ description: "Key of the object", example: KEY }),
  rows: Count.describe("Number of rows"),
  bytes: Count.describe("Size of the object"),
  sha256: z
    .string()
    .nullable()
    .openapi({ description: "SHA-256 of the object in hex", example: "9f86d081884c7d65" }),
  min_start_time: Timestamp.nullable().describe("Start time of the first run"),
  max_start_time: Timestamp.nullable().describe("Start time of the last run"),
});

export const BulkExportManifest = z
  .object({
    export_id: Uuid.describe("Id of the export"),
    bucket: z.string().openapi({ description: "Name of the bucket", example: "acme-traces" }),
    compression: z.enum(COMPRESSIONS).describe("Compression of the files"),
    rows: Count.describe("Number of rows written"),
    bytes: Count.describe("Size of the files written"),
    files: z.array(File).describe("Files that are written so far"),
    late_files: z
      .array(File)
      .describe("Files with rows that arrived too late for earlier exports of the schedule"),
    schema: z
      .array(
        z.object({
          name: z.string().openapi({ description: "Name of the column", example: "start_time" }),
          type: z.string().openapi({ description: "Type of the column", example: "timestamp" }),
        }),
      )
      .describe("Columns in the order of the files"),
    statements: z
      .record(z.string(), z.string())
      .nullable()
      .openapi({
        description: "SQL that reads the files, `null` without files",
        example: { duckdb: "SELECT id FROM read_parquet('s3://acme-traces/runs/*.parquet');" },
      }),
  })
  .openapi("BulkExportManifest");
export type BulkExportManifest = z.infer<typeof BulkExportManifest>;
