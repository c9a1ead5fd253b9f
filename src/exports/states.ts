import type { BulkExportStatus } from "./schema.ts";

export type FileStatus = "WAITING" | "RUNNING" | "COMPLETED" | "FAILED" | "CANCELLED" | "TIMEDOUT";
export type ExportRunStatus = Exclude<BulkExportStatus, "INTERVAL_SCHEDULED">;

const FINAL: readonly string[] = ["COMPLETED", "FAILED", "CANCELLED", "TIMEDOUT"];
const CANCELLABLE: readonly BulkExportStatus[] = ["CREATED", "RUNNING", "INTERVAL_SCHEDULED"];
const RETRYABLE: readonly BulkExportStatus[] = ["FAILED", "TIMEDOUT"];

/** Number of files by status. */
export type FileCounts = Partial<Record<FileStatus, number>>;

export function isFinal(status: BulkExportStatus | FileStatus): boolean {
  return FINAL.includes(status);
}

export function isCancellable(status: BulkExportStatus): boolean {
  return CANCELLABLE.includes(status);
}

export function isRetryable(status: BulkExportStatus): boolean {
  return RETRYABLE.includes(status);
}

/** Returns the status of an export run, which is one day. A day without rows has no files and is complete. */
export function exportRunStatus(
  files: FileCounts,
  exportStatus: BulkExportStatus,
): ExportRunStatus {
  const count = (status: FileStatus) => files[status] ?? 0;
  if (count("FAILED") > 0) return "FAILED";
  if (count("TIMEDOUT") > 0) return "TIMEDOUT";
  if (count("CANCELLED") > 0) return "CANCELLED";
  if (count("RUNNING") > 0) return "RUNNING";
  if (count("WAITING") === 0) return "COMPLETED";
  if (exportStatus === "CANCELLED" || exportStatus === "TIMEDOUT") return exportStatus;
  return count("COMPLETED") > 0 ? "RUNNING" : "CREATED";
}

/** `pending` while a file can still be written: failed files do not stop the others. */
export type WriteOutcome = "pending" | "failed" | "written";

export function writeOutcomeOf(files: FileCounts): WriteOutcome {
  if ((files.WAITING ?? 0) + (files.RUNNING ?? 0) > 0) return "pending";
  return (files.FAILED ?? 0) > 0 ? "failed" : "written";
}

export type Progress = {
  phase: "queued" | "planning" | "writing" | "finishing" | "finished";
  rows_written: number;
  late_rows_written: number;
  rows_total: number | null;
  bytes_written: number;
  files_written: number;
  files_total: number | null;
  fraction: number | null;
  seconds_left: number | null;
};

type Written = "rows_written" | "late_rows_written" | "bytes_written" | "files_written";
export type Tally = Pick<Progress, Written> & {
  rows_total: number;
  files_total: number;
};

type Clock = { status: BulkExportStatus; planned_at: string | null; now: Date };

/** Estimates `seconds_left` by the rate of rows since the plan. */
export function progressOf(tally: Tally, { status, planned_at, now }: Clock): Progress {
  if (planned_at === null) {
    const phase = isFinal(status) ? "finished" : status === "RUNNING" ? "planning" : "queued";
    return {
      ...tally,
      phase,
      rows_total: null,
      files_total: null,
      fraction: null,
      seconds_left: null,
    };
  }
  const fraction = fractionOf(tally, status);
  if (isFinal(status)) return { ...tally, phase: "finished", fraction, seconds_left: null };
  const phase = tally.files_written === tally.files_total ? "finishing" : "writing";
  const elapsed = Math.max(0, (now.getTime() - Date.parse(planned_at)) / 1000);
  const seconds_left = fraction === 0 ? null : Math.ceil((elapsed * (1 - fraction)) / fraction);
  return { ...tally, phase, fraction, seconds_left };
}

/** A complete export may have fewer rows than planned: runs that were deleted after the plan are not written. */
function fractionOf({ rows_total, rows_written }: Tally, status: BulkExportStatus): number {
  if (status === "COMPLETED" || rows_total === 0) return 1;
  return Math.min(1, rows_written / rows_total);
}
