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

const RunStatus = BulkExportStatus.exclude(["INTERVAL_SCHEDULED"]);

export const BulkExportRun = namedObject("BulkExportRun", {
  id: Uuid.describe("Id of the run"),
  bulk_export_id: Uuid.describe("Id of the export"),
  session_id: Uuid.describe("Id of the project"),
  status: RunStatus.describe("Status of the run"),
  retry_number: Count.describe("Number of retries"),
  errors: z
    .record(z.string(), z.string())
    .nullable()
    .describe("Errors by attempt, a line with its name for each file"),
  start_time: Timestamp.nullable().describe("Start of the exported time range (inclusive)"),
  end_time: Timestamp.nullable().describe("End of the exported time range (exclusive)"),
  created_at: CreatedAt,
  updated_at: UpdatedAt,
  finished_at: Timestamp.nullable().describe("Time at which it ended, `null` before"),
  metadata: z
    .object({
      prefix: textField(
        "Prefix of the objects in the bucket",
        "exports/export_id=019a2b3c-4d5e-7f60-8a1b-2c3d4e5f6071",
      ),
      start_time: Timestamp.describe("Start of the exported time range (inclusive)"),
      end_time: Timestamp.describe("End of the exported time range (exclusive)"),
      execution_backend: z.null().describe("Always `null`"),
      result: z
        .object({
          rows_written: Count.describe("Number of rows written"),
          bytes_written: Count.describe("Size of the files written"),
          exported_files: z.array(z.string()).openapi({
            description: "Keys of the objects",
            example: ["exports/year=2026/month=11/day=20/runs.parquet"],
          }),
          export_path: textField(
            "Path of the export in the bucket",
            "exports/year=2026/month=11/day=20",
          ),
          latest_cursor: z.null().describe("Always `null`"),
          pending_upload: z.null().describe("Always `null`"),
        })
        .describe("What was written"),
    })
    .describe("Time range and result"),
});
export type BulkExportRun = z.infer<typeof BulkExportRun>;
