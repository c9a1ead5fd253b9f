import { invalid } from "../../../shared/errors.ts";
import { nowMicros, toMicros } from "../../../shared/times.ts";
import type { LogPage, LogQuery } from "./log-schema.ts";

/** Filters of log lines, for every store of lines. Pure. */

export type LogFilter = {
  /** Whether the oldest lines are first. */
  is_up: boolean;
  /** Id of the last line of the previous page. New lines never move a page. */
  after: number | null;
  level: string | null;
  /** Text that lines contain, case-insensitive. */
  text: string | null;
  from_us: number | null;
  to_us: number | null;
  limit: number;
};

export type LoggedLine = { id: string; level: string; message: string; timestamp: string };

export function toFilter(input: LogQuery): LogFilter {
  const { order, offset, level, query, start_time, end_time, limit } = input;
  return {
    is_up: order === "asc",
    after: toLineId(offset),
    level: level ?? null,
    text: query == null || query === "" ? null : query,
    from_us: start_time == null ? null : toMicros(start_time),
    to_us: end_time == null ? null : toMicros(end_time),
    limit,
  };
}

/**
 * Returns the offset after the last line. Without new lines it is the given offset, or 0 before the first line.
 * @returns `null` when the page is the last one, and no line is expected after it
 */
export function nextOffset(
  lines: readonly LoggedLine[],
  { is_up, after, to_us, limit }: LogFilter,
  mayGrow: boolean,
): LogPage["next_offset"] {
  const isOpen = to_us === null || to_us > nowMicros();
  const isLast = lines.length < limit && !(is_up && mayGrow && isOpen);
  if (isLast) return null;
  return lines.at(-1)?.id ?? String(after ?? 0);
}

function toLineId(offset: string | null | undefined): number | null {
  if (offset == null) return null;
  if (/^\d{1,15}$/.test(offset)) return Number(offset);
  throw invalid(["body", "offset"], "Invalid or expired offset");
}
