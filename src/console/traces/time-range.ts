import type { Stride } from "../../traces/stats/series-schema.ts";
import { zonedIso } from "../state/time-zone.ts";
import type { TimeChoice } from "./custom-range.ts";
import type { RangeName } from "./range-names.ts";

const MINUTE = 60;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

const SECONDS: Record<RangeName, number> = {
  "1h": HOUR,
  "3h": 3 * HOUR,
  "12h": 12 * HOUR,
  "24h": DAY,
  "7d": 7 * DAY,
  "30d": 30 * DAY,
};

const MAX_BUCKETS = 75;
const STRIDES = [1, 5, 10, 30].flatMap((n) => [n, n * MINUTE]);
const LONG_STRIDES = [HOUR, 3 * HOUR, 6 * HOUR, 12 * HOUR, DAY, 7 * DAY, 30 * DAY];

/** Seconds of the shortest bucket of which few enough fill the time. */
export function strideOf(seconds: number): number {
  const all = [...STRIDES, ...LONG_STRIDES].sort((a, b) => a - b);
  return all.find((stride) => seconds / stride <= MAX_BUCKETS) ?? 365 * DAY;
}

export function toStride(seconds: number): Stride {
  if (seconds % DAY === 0) return { unit: "DAY", value: seconds / DAY };
  if (seconds % HOUR === 0) return { unit: "HOUR", value: seconds / HOUR };
  if (seconds % MINUTE === 0) return { unit: "MINUTE", value: seconds / MINUTE };
  return { unit: "SECOND", value: seconds };
}

export type TimeWindow = {
  start: string;
  /** `undefined` for now. */
  end?: string | undefined;
  stride_s: number;
  /** Whether it is a chosen time instead of a range that ends now. */
  isChosen: boolean;
};

/**
 * Exact start of a range that ends now. The first bucket of a series may begin before it.
 * @param choice a chosen time, which replaces the range when it begins before its first bucket
 */
export function windowOf(range: RangeName, now: number, choice: TimeChoice = {}): TimeWindow {
  const least = now - SECONDS[range] * 1000;
  const from = choice.from === undefined ? least : Date.parse(choice.from);
  const isChosen = from < least - strideOf(SECONDS[range]) * 1000;
  const end = isChosen ? choice.to : undefined;
  const start = Math.min(from, least);
  const seconds = ((end === undefined ? now : Date.parse(end)) - start) / 1000;
  return { start: new Date(start).toISOString(), end, stride_s: strideOf(seconds), isChosen };
}

/**
 * Returns the choice of a part of a window. A bound of the window itself is kept as it is.
 * @param end the end of the last bucket, in milliseconds
 */
export function choiceOf(
  part: { from: number; to: number },
  window: TimeWindow,
  end: number,
): TimeChoice {
  const to = part.to < end ? new Date(part.to).toISOString() : window.end;
  if (part.from > Date.parse(window.start)) return { from: new Date(part.from).toISOString(), to };
  // The start of a range that ends now moves on: a part that has ended keeps its own.
  return { from: window.isChosen || to !== undefined ? window.start : undefined, to };
}

/** A time on an axis, with its date where the buckets are long. */
export function formatTick(ms: number, span_ms: number): string {
  const iso = zonedIso(new Date(ms));
  if (span_ms <= 2 * HOUR * 1000) return iso.slice(11, span_ms < 10 * MINUTE * 1000 ? 19 : 16);
  if (span_ms <= 2 * DAY * 1000) return iso.slice(11, 16);
  return `${iso.slice(8, 10)}.${iso.slice(5, 7)}. ${iso.slice(11, 16)}`;
}
