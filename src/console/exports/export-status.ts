import type { BulkExport, BulkExportStatus } from "../../exports/schema.ts";
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

export function canRetry(order: BulkExport): boolean {
  return !isSchedule(order) && (order.status === "FAILED" || order.status === "TIMEDOUT");
}

export function canCancel(order: BulkExport): boolean {
  return isExportActive(order) || order.status === "INTERVAL_SCHEDULED";
}
