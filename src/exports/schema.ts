import { z } from "@hono/zod-openapi";
import { list, Timestamp, Uuid } from "../shared/schema.ts";
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
export const COMPRESSIONS = ["zstandard", "gzip", "snappy", "none"] as const;

const MAX_FILTER_CHARS = 1_000_000;

/** Epoch microseconds of an ISO time; one without a zone is UTC. */
const Moment = z
  .string()
  .transform((text, ctx) => {
    const micros = toMicros(text);
    if (micros !== null) return micros;
    ctx.addIssue({ code: "custom", message: "must be an ISO 8601 time, as 2026-11-20T00:00:00Z" });
    return z.NEVER;
  })
  .openapi({ type: "string", format: "date-time" });

const INTERVAL = `must be a whole number of hours from ${limits.MIN_INTERVAL_HOURS} to ${limits.MAX_INTERVAL_HOURS}`;

export const BulkExportCreateRequest = z
  .object({
    bulk_export_destination_id: Uuid,
    session_id: Uuid,
    start_time: Moment,
    end_time: Moment.nullish(),
    interval_hours: z
      .int(INTERVAL)
      .min(limits.MIN_INTERVAL_HOURS, INTERVAL)
      .max(limits.MAX_INTERVAL_HOURS, INTERVAL)
      .nullish(),
    filter: z.string().max(MAX_FILTER_CHARS).nullish(),
    export_fields: list(z.string()).nullish(),
    format: caseless(FORMATS).nullish(),
    format_version: caseless(FORMAT_VERSIONS).nullish(),
    compression: caseless(COMPRESSIONS).nullish(),
    all_experiments: z
      .literal(false, "is not offered: name the project by session_id, one export each")
      .nullish(),
    late_rows: z.boolean().nullish().openapi({
      description:
        "Of a schedule: whether each window's export carries rows that arrived too late for the windows before it. Default true.",
    }),
  })
  .openapi("BulkExportCreate");
export type BulkExportCreateRequest = z.infer<typeof BulkExportCreateRequest>;

export const BulkExportPatchRequest = z
  .object({ status: caseless(["CANCELLED"], "can only become CANCELLED") })
  .openapi("BulkExportUpdate");

export const BulkExportsQuery = z.object({
  limit: z.coerce.number().int().min(1).max(100).default(100),
  offset: z.coerce.number().int().min(0).default(0),
  session_id: Uuid.optional(),
  source_bulk_export_id: Uuid.optional(),
  status: caseless(STATUSES).optional(),
});
export type BulkExportsQuery = z.infer<typeof BulkExportsQuery>;

export const ExportRunsQuery = z.object({
  limit: z.coerce.number().int().min(1).max(10_000).default(10_000),
  offset: z.coerce.number().int().min(0).default(0),
});
export type ExportRunsQuery = z.infer<typeof ExportRunsQuery>;

const Phase = z.enum(["queued", "planning", "writing", "finishing", "finished"]);
const Count = z.number().int();

const Progress = z
  .object({
    phase: Phase,
    rows_written: Count,
    rows_total: Count.nullable(),
    bytes_written: Count,
    files_written: Count,
    files_total: Count.nullable(),
    fraction: z.number().min(0).max(1).nullable(),
    seconds_left: Count.nullable().openapi({ description: "An estimate" }),
  })
  .openapi("BulkExportProgress");

export const BulkExport = z
  .object({
    id: Uuid,
    tenant_id: Uuid,
    bulk_export_destination_id: Uuid,
    session_id: Uuid,
    start_time: Timestamp,
    end_time: Timestamp.nullable(),
    interval_hours: Count.nullable(),
    filter: z.string().nullable(),
    export_fields: z.array(z.string()).nullable(),
    format: z.enum(FORMATS),
    format_version: z.enum(FORMAT_VERSIONS),
    compression: z.enum(COMPRESSIONS),
    all_experiments: z.boolean().nullable(),
    late_rows: z.boolean(),
    status: BulkExportStatus,
    error: z.string().nullable().openapi({ description: "Why it failed, and what to do" }),
    source_bulk_export_id: Uuid.nullable(),
    created_at: Timestamp,
    updated_at: Timestamp,
    finished_at: Timestamp.nullable(),
    progress: Progress.nullable().openapi({ description: "Null of a schedule" }),
  })
  .openapi("BulkExport");
export type BulkExport = z.infer<typeof BulkExport>;

const RunStatus = BulkExportStatus.exclude(["INTERVAL_SCHEDULED"]);

export const BulkExportRun = z
  .object({
    id: Uuid,
    bulk_export_id: Uuid,
    session_id: Uuid,
    status: RunStatus,
    retry_number: Count,
    errors: z.record(z.string(), z.string()).nullable(),
    start_time: Timestamp.nullable(),
    end_time: Timestamp.nullable(),
    created_at: Timestamp,
    updated_at: Timestamp,
    finished_at: Timestamp.nullable(),
    metadata: z.object({
      prefix: z.string(),
      start_time: Timestamp,
      end_time: Timestamp,
      execution_backend: z.null(),
      result: z.object({
        rows_written: Count,
        bytes_written: Count,
        exported_files: z.array(z.string()),
        export_path: z.string(),
        latest_cursor: z.null(),
        pending_upload: z.null(),
      }),
    }),
  })
  .openapi("BulkExportRun");
export type BulkExportRun = z.infer<typeof BulkExportRun>;

export const BulkExportLimits = z
  .object({
    export_timeout_hours: Count,
    max_files_at_once: Count,
    max_active_exports: Count,
    max_schedules: Count,
    max_creates_per_hour: Count,
    min_interval_hours: Count,
    max_interval_hours: Count,
    max_days: Count,
    max_retries_per_file: Count,
    spawn_delay_minutes: Count,
    max_rows_per_file: Count,
    max_bytes_per_file: Count,
  })
  .openapi("BulkExportLimits");
export type BulkExportLimits = z.infer<typeof BulkExportLimits>;

/** One of the words, however it is capitalised: published clients write `Cancelled` and `CANCELLED`. */
function caseless<const T extends readonly [string, ...string[]]>(words: T, message?: string) {
  return z.preprocess(
    (value) => {
      if (typeof value !== "string") return value;
      return words.find((word) => word.toLowerCase() === value.toLowerCase()) ?? value;
    },
    z.enum(words, message),
  );
}
