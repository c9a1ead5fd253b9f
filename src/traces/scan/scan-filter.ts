import { findCandidates } from "../filter/candidates.ts";
import { compileFilter } from "../filter/compile.ts";
import { parseFilter } from "../filter/parse.ts";
import type { ScanFilter } from "../reads/scan-conditions.ts";

export type { ScanFilter } from "../reads/scan-conditions.ts";

export function toScanFilter(session_id: string, text: string | null): ScanFilter {
  if (text === null || text.trim() === "") return { filter: null, candidates: [] };
  const filter = parseFilter(text, "filter");
  return { filter: compileFilter(filter, { session_id }), candidates: findCandidates(filter) };
}
