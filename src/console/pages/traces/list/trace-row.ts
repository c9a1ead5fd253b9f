import type { RunsPage } from "../../../../traces/query/query-schema.ts";
import type { TraceRun } from "../../../../traces/query/run-schema.ts";
import { ApiError } from "../../../api/errors.ts";
import { cutText, formatCount } from "../../../ui/formats.ts";

/** Fields of a row of the list. */
export type TraceListRow = Pick<
  TraceRun,
  | "id"
  | "trace_id"
  | "name"
  | "run_type"
  | "start_time"
  | "end_time"
  | "latency"
  | "first_token_time"
  | "total_tokens"
  | "total_cost"
  | "error"
  | "inputs_preview"
  | "outputs_preview"
  | "tags"
  | "feedback_stats"
> & { status: string };

export const SELECT = [
  "id",
  "trace_id",
  "name",
  "run_type",
  "status",
  "start_time",
  "end_time",
  "latency",
  "first_token_time",
  "total_tokens",
  "total_cost",
  "error",
  "inputs_preview",
  "outputs_preview",
  "tags",
  "feedback_stats",
];

/** Converts a run of version 2 of the API, which lists the changes. */
export function fromV2(item: Record<string, unknown>): TraceListRow {
  const { status, run_type, latency_seconds, ...rest } = item;
  return {
    ...rest,
    status: String(status).toLowerCase(),
    run_type: String(run_type).toLowerCase(),
    latency: latency_seconds ?? null,
  } as TraceListRow;
}

const MAX_LINE_CHARS = 300;

export function firstLine(error: string | null): string | null {
  return error === null ? null : cutText(error.trim().split("\n", 1)[0] ?? "", MAX_LINE_CHARS);
}

/**
 * Returns the length of a bar, 0 to 1, on one scale for all rows. The square root keeps small values visible beside
 * large ones.
 */
export function partOf(value: number | null, largest: number): number {
  return value === null || largest <= 0 ? 0 : Math.sqrt(Math.max(value, 0) / largest);
}

/** Returns the rows of the list in their latest state, and the number of runs that the list does not have yet. */
export function mergeChanges(
  listed: TraceListRow[],
  changed: ReadonlyMap<string, TraceListRow>,
): { rows: TraceListRow[]; newCount: number } {
  const rows = listed.map((row) => {
    const change = changed.get(row.id);
    // A list that was read again may be newer than the changes, which are read page by page.
    return change === undefined || (row.end_time && !change.end_time) ? row : change;
  });
  const known = new Set(listed.map(({ id }) => id));
  const newCount = [...changed.keys()].filter((id) => !known.has(id)).length;
  return { rows, newCount };
}

/**
 * Returns `1 trace, all shown`, or `50 runs shown, and there are more`.
 * @param stopped why the last page has no runs
 */
export function countText(
  count: number,
  noun: string,
  { hasMore, stopped }: { hasMore: boolean; stopped?: string | undefined },
): string {
  const counted = formatCount(count, noun);
  if (stopped !== undefined) return count === 0 ? stopped : `${counted} shown. ${stopped}`;
  return hasMore ? `${counted} shown, and there are more` : `${counted}, all shown`;
}

/** `stopped`: why the page has no runs although others follow. */
export type SearchPage = Pick<RunsPage, "runs" | "cursors"> & { stopped?: string };

/** Reads the text and the cursor of a 413: the search reached its limit, or a run exceeds the limit of a response. */
const STOPPED = /^(.+?)(?:, or|\. To) continue .*the cursor ([\w-]+)$/s;

/** Returns an empty page with the cursor of a refused one. @throws the error when it has no cursor */
export function toStoppedPage(error: unknown): SearchPage {
  const isTooLarge = error instanceof ApiError && error.status === 413;
  const [, text, next] = (isTooLarge && STOPPED.exec(error.message)) || [];
  if (text === undefined || next === undefined) throw error;
  return { runs: [], cursors: { next, prev: null }, stopped: `${text}.` };
}
