import type { Stride } from "../../traces/stats/series-schema.ts";
import { zonedIso } from "../state/time-zone.ts";
import type { TimeChoice } from "./custom-range.ts";
import type { RangeName } from "./range-names.ts";

const MINUTE_S = 60;
const HOUR_S = 60 * MINUTE_S;
const DAY_S = 24 * HOUR_S;

const SECONDS: Record<RangeName, number> = {
  "1h": HOUR_S,
  "3h": 3 * HOUR_S,
  "12h": 12 * HOUR_S,
  "24h": DAY_S,
  "7d": 7 * DAY_S,
  "30d": 30 * DAY_S,
};

const MAX_BUCKETS = 75;
const STRIDES = [1, 5, 10, 30].flatMap((n) => [n, n * MINUTE_S]);
const LONG_STRIDES = [HOUR_S, 3 * HOUR_S, 6 * HOUR_S, 12 * HOUR_S, DAY_S, 7 * DAY_S, 30 * DAY_S];

/** Returns the shortest bucket, in seconds, that divides a time into at most `MAX_BUCKETS` parts. */
export function strideOf(seconds: number): number {
  const all = [...STRIDES, ...LONG_STRIDES].sort((a, b) => a - b);
  return all.find((stride) => seconds / stride <= MAX_BUCKETS) ?? 365 * DAY_S;
}

export function toStride(seconds: number): Stride {
  if (seconds % DAY_S === 0) return { unit: "DAY", value: seconds / DAY_S };
  if (seconds % HOUR_S === 0) return { unit: "HOUR", value: seconds / HOUR_S };
  if (seconds % MINUTE_S === 0) return { unit: "MINUTE", value: seconds / MINUTE_S };
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
 * Returns the time that the histogram and the list show: a range that ends now, or a chosen time before it. The first
 * bucket of the histogram may begin before `start`.
 * @param choice replaces the range when it begins before the range's first bucket
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
 * Returns the choice that shows a part of a window. A bound that the part shares with the window is kept, so that a
 * range that ends now still does.
 * @param end the end of the last bucket, in milliseconds
 */
export function choiceOf(
  part: { from: number; to: number },
  window: TimeWindow,
  end: number,
): TimeChoice {
  const to = part.to < end ? new Date(part.to).toISOString() : window.end;
  if (part.from > Date.parse(window.start)) return { from: new Date(part.from).toISOString(), to };
  // The start of a range that ends now moves with the clock. A part that has ended keeps the start of the window.
  return { from: window.isChosen || to !== undefined ? window.start : undefined, to };
}

/**
 * Formats a time on an axis.
 * @param span_ms length of the axis: seconds are shown below ten minutes, and the date above two days
 */
export function formatTick(ms: number, span_ms: number): string {
  const iso = zonedIso(new Date(ms));
  if (span_ms <= 2 * HOUR_S * 1000) return iso.slice(11, span_ms < 10 * MINUTE_S * 1000 ? 19 : 16);
  if (span_ms <= 2 * DAY_S * 1000) return iso.slice(11, 16);
  return `${iso.slice(8, 10)}.${iso.slice(5, 7)}. ${iso.slice(11, 16)}`;
}
