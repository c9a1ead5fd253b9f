import type { BulkExport, BulkExportStatus } from "../../exports/schema.ts";
import { formatCount, formatNumber } from "../ui/formats.ts";
import type { StatusKind } from "../ui/icons/status-kind.ts";

type Shown = { kind: StatusKind; word: string };

const SHOWN: Record<BulkExportStatus, Shown> = {
  CREATED: { kind: "queued", word: "Queued" },
  RUNNING: { kind: "running", word: "Running" },
  COMPLETED: { kind: "ok", word: "Completed" },
  FAILED: { kind: "failed", word: "Failed" },
  CANCELLED: { kind: "cancelled", word: "Cancelled" },
  TIMEDOUT: { kind: "timed-out", word: "Timed out" },
  INTERVAL_SCHEDULED: { kind: "idle", word: "Scheduled" },
};

export function showExportStatus(status: BulkExportStatus): Shown {
  return SHOWN[status];
}

export function isExportActive({ status }: Pick<BulkExport, "status">): boolean {
  return status === "CREATED" || status === "RUNNING";
}

export function isSchedule({
  interval_hours,
  end_time,
}: Pick<BulkExport, "interval_hours" | "end_time">): boolean {
  return interval_hours !== null && end_time === null;
}

export function canRetry(bulkExport: BulkExport): boolean {
  return (
    !isSchedule(bulkExport) && (bulkExport.status === "FAILED" || bulkExport.status === "TIMEDOUT")
  );
}

export function canCancel(bulkExport: BulkExport): boolean {
  return isExportActive(bulkExport) || bulkExport.status === "INTERVAL_SCHEDULED";
}

type Files = Pick<NonNullable<BulkExport["progress"]>, "phase" | "files_written" | "files_total">;

/** Returns `5 of 13 files`, or without a plan the phase of the export. */
export function filesText({ phase, files_written, files_total }: Files): string {
  if (files_total !== null)
    return `${formatNumber(files_written)} of ${formatCount(files_total, "file")}`;
  return phase === "finished" ? "ended before its plan" : phase;
}
