import { z } from "@hono/zod-openapi";
import {
  CreatedAt,
  caseless,
  list,
  namedObject,
  queryLimit,
  Timestamp,
  UpdatedAt,
  Uuid,
} from "../shared/schema.ts";
import { toMicros } from "../shared/times.ts";
import * as limits from "./limits.ts";

export const STATUSES = [
  "CREATED",
  "RUNNING",
  "COMPLETED",
  "FAILED",
  "CANCELLED",
  "TIMEDOUT",
  "INTERVAL_SCHEDULED",
] as const;
export const BulkExportStatus = z.enum(STATUSES).openapi("BulkExportStatus");
export type BulkExportStatus = z.infer<typeof BulkExportStatus>;

const FORMATS = ["Parquet"] as const;
const FORMAT_VERSIONS = ["v1", "v2_beta"] as const;
export const TABLE_FORMATS = ["iceberg"] as const;
export const COMPRESSIONS = ["zstandard", "gzip", "snappy", "none"] as const;

const MAX_FILTER_CHARS = 1_000_000;

/** Parses to epoch microseconds; a time without a zone is UTC. */
const Moment = z
  .string()
  .transform((text, ctx) => {
    const micros = toMicros(text);
    if (micros !== null) return micros;
    ctx.addIssue({
      code: "custom",
      message: "must be an ISO 8601 time such as 2026-11-20T00:00:00Z",
    });
    return z.NEVER;
  })
  .openapi({ type: "string", format: "date-time" });

const INTERVAL = `must be a whole number of hours from ${limits.MIN_INTERVAL_HOURS} to ${limits.MAX_INTERVAL_HOURS}`;

export const BulkExportCreateRequest = namedObject("BulkExportCreate", {
  bulk_export_destination_id: Uuid.describe("Id of the destination"),
  session_id: Uuid.describe("Id of the project"),
  start_time: Moment.describe("Lower bound of the start times to export (inclusive)"),
  end_time: Moment.nullish().describe(
    "Upper bound of the start times to export (exclusive). Must be absent with `interval_hours`",
  ),
  interval_hours: z
    .int(INTERVAL)
    .min(limits.MIN_INTERVAL_HOURS, INTERVAL)
    .max(limits.MAX_INTERVAL_HOURS, INTERVAL)
    .nullish()
    .describe("Makes a schedule, which has no end: hours between two exports"),
  filter: z
    .string()
    .max(MAX_FILTER_CHARS)
    .nullish()
    .describe("Filter in the query language. Default: all runs"),
  export_fields: list(z.string()).nullish().describe("Columns to write. Default: all"),
  format: caseless(FORMATS).nullish().describe("File format"),
  format_version: caseless(FORMAT_VERSIONS).nullish().describe("Version of the columns"),
  compression: caseless(COMPRESSIONS).nullish().describe("Compression of the files"),
  all_experiments: z
    .literal(false, "is not supported: set session_id, one export for each project")
    .nullish()
    .describe("Must be `false` or absent"),
  late_rows: z
    .boolean()
    .nullish()
    .describe(
      "Whether each export of a schedule includes rows that arrived too late for the files of their own window. Default: `false`",
    ),
  table_format: caseless(TABLE_FORMATS)
    .nullish()
    .describe(
      "`iceberg` makes a schedule a table of Apache Iceberg, to which each window is appended as one snapshot. Default: no table",
    ),
});
export type BulkExportCreateRequest = z.infer<typeof BulkExportCreateRequest>;

export const BulkExportPatchRequest = namedObject("BulkExportUpdate", {
  status: caseless(["CANCELLED"], "must be CANCELLED").describe("Must be `CANCELLED`"),
});

const KINDS = ["once", "schedule", "window"] as const;

export const BulkExportsQuery = z.strictObject({
  limit: queryLimit("exports", 100, 100),
  offset: z.coerce.number().int().min(0).default(0).describe("Number of items to skip"),
  session_id: Uuid.optional().describe("Id of the project"),
  source_bulk_export_id: Uuid.optional().describe("Id of the schedule that created the export"),
  status: caseless(STATUSES).optional().describe("Status of the exports"),
  kind: z
    .enum(KINDS)
    .optional()
    .describe("Whether the exports run once, are schedules, or are windows of a schedule"),
});
export type BulkExportsQuery = z.infer<typeof BulkExportsQuery>;

const Phase = z.enum(["queued", "planning", "writing", "finishing", "finished"]);
export const Count = z.number().int();

const Progress = namedObject("BulkExportProgress", {
  phase: Phase.describe("Phase of the export"),
  rows_written: Count.describe("Number of rows written"),
  late_rows_written: Count.describe(
    "Number of written rows that arrived too late for the files of their window",
  ),
  rows_total: Count.nullable().describe("Number of rows to write, `null` before the plan"),
  bytes_written: Count.describe("Size of the files written"),
  files_written: Count.describe("Number of files written"),
  files_total: Count.nullable().describe("Number of files to write, `null` before the plan"),
  fraction: z
    .number()
    .min(0)
    .max(1)
    .nullable()
    .describe("Share of the rows that are written, 0 to 1. `null` before the plan"),
  seconds_left: Count.nullable().describe("Estimate of the remaining seconds"),
});

export const BulkExport = namedObject("BulkExport", {
  id: Uuid.describe("Id of the export"),
  tenant_id: Uuid.describe("Id of the workspace"),
  bulk_export_destination_id: Uuid.describe("Id of the destination"),
  session_id: Uuid.describe("Id of the project"),
  start_time: Timestamp.describe("Start of the exported time range (inclusive)"),
  end_time: Timestamp.nullable().describe(
    "End of the exported time range (exclusive), `null` for a schedule",
  ),
  interval_hours: Count.nullable().describe(
    "Hours between two exports of a schedule, `null` otherwise",
  ),
  filter: z.string().nullable().describe("Filter in the query language, `null` for all runs"),
  export_fields: z.array(z.string()).nullable().describe("Columns, `null` for all"),
  format: z.enum(FORMATS).describe("File format"),
  format_version: z.enum(FORMAT_VERSIONS).describe("Version of the columns"),
  compression: z.enum(COMPRESSIONS).describe("Compression of the files"),
  all_experiments: z.boolean().nullable().describe("Always `null`"),
  late_rows: z.boolean().describe("Whether exports of a schedule include rows that arrived late"),
  table_format: z
    .enum(TABLE_FORMATS)
    .nullable()
    .describe("Format of the table of the schedule, `null` without a table"),
  status: BulkExportStatus.describe("Status of the export"),
  error: z
    .string()
    .nullable()
    .describe(
      "Reason for the failure, and how to correct it, with a line for each of up to 20 failed files. Of an active export: the last error, which is retried",
    ),
  source_bulk_export_id: Uuid.nullable().describe("Id of the schedule that created the export"),
  created_at: CreatedAt,
  updated_at: UpdatedAt,
  finished_at: Timestamp.nullable().describe("Time at which it ended, `null` before"),
  progress: Progress.nullable().describe("Progress of the export, `null` for a schedule"),
});
export type BulkExport = z.infer<typeof BulkExport>;

export const BulkExportLimits = namedObject("BulkExportLimits", {
  export_timeout_hours: Count.describe("Maximum duration of an export, from its start"),
  max_files_at_once: Count.describe("Maximum number of files that a workspace writes at once"),
  max_active_exports: Count.describe(
    "Maximum number of exports that a workspace runs at once. Others wait",
  ),
  max_schedules: Count.describe("Maximum number of active schedules of a workspace"),
  max_creates_per_hour: Count.describe(
    "Maximum number of exports that a workspace creates per hour, windows of schedules included",
  ),
  min_interval_hours: Count.describe("Minimum interval of a schedule"),
  max_interval_hours: Count.describe("Maximum interval of a schedule"),
  max_days: Count.describe("Maximum number of UTC days in the time range of an export"),
  max_retries_per_file: Count.describe(
    "Maximum number of retries of a file. A retry of the export allows as many again",
  ),
  spawn_delay_minutes: Count.describe("Delay after the end of a window before its export starts"),
  max_rows_per_file: Count.describe("Maximum number of rows in a file"),
  max_bytes_per_file: Count.describe(
    "Approximate maximum size of the rows of a file, before compression",
  ),
});
export type BulkExportLimits = z.infer<typeof BulkExportLimits>;
