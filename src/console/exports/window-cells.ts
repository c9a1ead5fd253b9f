import type { BulkExport } from "../../exports/schema.ts";
import type { WeaveKind } from "../ui/chart/weave-cell.ts";
import { showExportStatus } from "./export-status.ts";

const CELLS: Partial<Record<BulkExport["status"], WeaveKind>> = {
  COMPLETED: "ok",
  FAILED: "failed",
  TIMEDOUT: "failed",
  RUNNING: "running",
  CREATED: "queued",
  CANCELLED: "cancelled",
};

/** Returns how the cell of a window is drawn in a `Weave`. */
export function cellOf({ status }: Pick<BulkExport, "status">): WeaveKind {
  return CELLS[status] ?? "none";
}

/** Counts windows by status in words, for readers that do not see the cells. */
export function windowsText(windows: Pick<BulkExport, "status">[]): string {
  if (windows.length === 0) return "No window yet";
  const counts = new Map<string, number>();
  for (const { status } of windows) {
    const word = showExportStatus(status).word.toLowerCase();
    counts.set(word, (counts.get(word) ?? 0) + 1);
  }
  const parts = [...counts].map(([word, count]) => `${count} ${word}`);
  return `${windows.length === 1 ? "1 window" : `${windows.length} windows`}: ${parts.join(", ")}`;
}
