import { choiceParam, numberParam, type RawSearch } from "../../state/search.ts";

export const SHOWN_STATUSES = [
  "CREATED",
  "RUNNING",
  "COMPLETED",
  "FAILED",
  "CANCELLED",
  "TIMEDOUT",
] as const;

export type ExportsSearch = {
  status?: (typeof SHOWN_STATUSES)[number] | undefined;
  /** Absent for exports that run once. */
  kind?: "schedule" | "window" | undefined;
  /** Number of exports that the page skips. */
  offset?: number | undefined;
};

export function exportsSearch(search: RawSearch): ExportsSearch {
  const offset = Math.floor(numberParam(search, "offset") ?? 0);
  return {
    status: choiceParam(search, "status", SHOWN_STATUSES),
    kind: choiceParam(search, "kind", ["schedule", "window"]),
    offset: offset > 0 ? offset : undefined,
  };
}
