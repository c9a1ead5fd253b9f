import { z } from "@hono/zod-openapi";
import {
  CreatedAt,
  namedObject,
  queryLimit,
  Timestamp,
  textField,
  UpdatedAt,
  Uuid,
} from "../../shared/schema.ts";
import { BulkExportStatus, Count } from "../schema.ts";

export const ExportRunsQuery = z.strictObject({
  limit: queryLimit("runs", 10_000, 10_000),
  offset: z.coerce.number().int().min(0).default(0).describe("Number of items to skip"),
});
export type ExportRunsQuery = z.infer<typeof ExportRunsQuery>;

const DAY_FOLDER = "exports/export_id=E/tenant_id=T/session_id=S/runs/year=2026/month=11/day=20";

const RunStatus = BulkExportStatus.exclude(["INTERVAL_SCHEDULED"]);

export const BulkExportRun = namedObject("BulkExportRun", {
  id: Uuid.describe("Id of the run"),
  bulk_export_id: Uuid.describe("Id of the export"),
  session_id: Uuid.describe("Id of the project"),
  status: RunStatus.describe("Status of the run"),
  retry_number: Count.describe("Number of retries of the file with the most retries"),
  errors: z
    .record(z.string(), z.string())
    .nullable()
    .describe("Errors by attempt. A line for each file begins with the name of the file"),
  start_time: Timestamp.nullable().describe("Start of the exported time range (inclusive)"),
  end_time: Timestamp.nullable().describe("End of the exported time range (exclusive)"),
  created_at: CreatedAt,
  updated_at: UpdatedAt,
  finished_at: Timestamp.nullable().describe("Time at which it ended, `null` before"),
  metadata: z
    .object({
      prefix: textField("Prefix of the objects in the bucket", DAY_FOLDER),
      start_time: Timestamp.describe("Start of the exported time range (inclusive)"),
      end_time: Timestamp.describe("End of the exported time range (exclusive)"),
      execution_backend: z.null().describe("Always `null`"),
      result: z
        .object({
          rows_written: Count.describe("Number of rows written"),
          bytes_written: Count.describe("Size of the files written"),
          exported_files: z.array(z.string()).openapi({
            description: "Keys of the objects",
            example: [`${DAY_FOLDER}/part-00000.parquet`],
          }),
          export_path: textField("Folder of the files, the same as `prefix`", DAY_FOLDER),
          latest_cursor: z.null().describe("Always `null`"),
          pending_upload: z.null().describe("Always `null`"),
        })
        .describe("What was written"),
    })
    .describe("Time range and result"),
});
export type BulkExportRun = z.infer<typeof BulkExportRun>;
