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
  /** Without it those that run once. */
  kind?: "schedule" | "window" | undefined;
  /** Number of exports before the first one. */
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
