import type { BulkExport } from "../../../exports/schema.ts";
import { showExportStatus } from "./export-status.ts";

const CELLS: Partial<Record<BulkExport["status"], string>> = {
  COMPLETED: "o",
  FAILED: "e",
  TIMEDOUT: "e",
  RUNNING: "r",
  CREATED: "q",
  CANCELLED: "c",
};

/** The class of a window's cell in the weave. */
export function cellOf({ status }: Pick<BulkExport, "status">): string {
  return CELLS[status] ?? "n";
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
