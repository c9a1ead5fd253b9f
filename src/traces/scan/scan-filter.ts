import { parseFilter } from "../filter/parse.ts";
import type { ScanFilter } from "../reads/scan-runs.ts";

export function toScanFilter(project_id: string, text: string | null): ScanFilter {
  const isEmpty = text === null || text.trim() === "";
  return { project_id, filter: isEmpty ? null : parseFilter(text, "filter") };
}
