import { z } from "@hono/zod-openapi";
import { namedObject } from "../../shared/schema.ts";
import { QuotaList } from "../quotas/quota-schema.ts";

const Day = z.iso.date("must be a day such as 2026-11-20").openapi({ example: "2026-11-20" });
const total = (description: string, example: number) =>
  z.number().openapi({ description, example });

export const UsageQuery = z.strictObject({
  from: Day.optional().describe("First UTC day. Default: 29 days before `to`"),
  to: Day.optional().describe("Last UTC day. Default: today"),
});
export type UsageQuery = z.infer<typeof UsageQuery>;

export const UsageDay = namedObject("UsageDay", {
  date: Day.describe("UTC day"),
  runs: total("Runs of agents that ended on the day, after they had started", 1200),
  run_seconds: total("Time of these runs from their first attempt to their end", 5400.25),
  runs_created: total("Runs of agents accepted on the day, queued ones included", 1210),
  ingested_spans: total("Trace runs created on the day, whatever their start", 18_200),
  ingested_bytes: total(
    "Decoded bodies of trace ingestion, without the traces of agents",
    39_000_000,
  ),
  traces: total("Stored traces that started on the day", 1300),
  spans: total("Stored trace runs that started on the day", 18_000),
  trace_bytes: total(
    "Size of these trace runs, without payloads in R2: those over 250 KB, and those of days that ended a week ago",
    36_000_000,
  ),
  export_files: total("Files of exports written on the day", 4),
  export_rows: total("Rows in these files", 250_000),
  export_bytes: total("Size of these files", 41_000_000),
});
export type UsageDay = z.infer<typeof UsageDay>;

export const StoredUsage = namedObject("StoredUsage", {
  uploads: total("Uploaded tarballs", 12_000_000),
  artifacts: total("Artifacts of revisions, each once", 30_000_000),
  traces: total(
    "Trace runs, feedback and indexes, and the files that exports keep of past days",
    36_000_000,
  ),
  payloads: total(
    "Inputs, outputs, metadata, events and `serialized` of trace runs that have over 250 KB each, replaced ones included",
    8_000_000,
  ),
  attachments: total("Attachments of trace runs", 4_000_000),
  logs: total("Logs of builds and of agents", 2_000_000),
  total: total("All of these. The meter `stored_bytes` of quotas", 92_000_000),
});
export type StoredUsage = z.infer<typeof StoredUsage>;

export const UsageDays = namedObject("UsageDays", {
  days: z.array(UsageDay).describe("Each day of the range, the oldest first"),
  stored: StoredUsage.describe("Bytes that the workspace stores now"),
  quotas: QuotaList.shape.quotas,
});
export type UsageDays = z.infer<typeof UsageDays>;
