import { DAY_US } from "../shared/times.ts";
import { SPAWN_DELAY_MINUTES } from "./limits.ts";

export type Range = { start_us: number; end_us: number };

const HOUR_US = 3_600_000_000;
const DELAY_MS = SPAWN_DELAY_MINUTES * 60_000;

/** Splits a range into UTC days. */
export function daysOf({ start_us, end_us }: Range): Range[] {
  const days: Range[] = [];
  for (let from = start_us; from < end_us; ) {
    const to = Math.min(end_us, (Math.floor(from / DAY_US) + 1) * DAY_US);
    days.push({ start_us: from, end_us: to });
    from = to;
  }
  return days;
}

/** Counts the UTC days that a range touches. */
export function countDays({ start_us, end_us }: Range): number {
  return Math.ceil(end_us / DAY_US) - Math.floor(start_us / DAY_US);
}

/** Window k of a schedule: [start + k * interval, start + (k + 1) * interval). */
export function windowOf(start_us: number, interval_hours: number, k: number): Range {
  const length = interval_hours * HOUR_US;
  return { start_us: start_us + k * length, end_us: start_us + (k + 1) * length };
}

/** Returns the ISO time at which the export of window k is due. */
export function dueAt(start_us: number, interval_hours: number, k: number): string {
  const { end_us } = windowOf(start_us, interval_hours, k);
  return new Date(Math.ceil(end_us / 1000) + DELAY_MS).toISOString();
}
