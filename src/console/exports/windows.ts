import type { BulkExport } from "../../exports/schema.ts";
import { formatDate, formatDuration } from "../ui/formats.ts";
import { isSchedule } from "./export-status.ts";

const HOUR_MS = 60 * 60 * 1000;
/** `SPAWN_DELAY_MINUTES` of the service, which waits for runs that arrive late. */
const DELAY_MS = 10 * 60 * 1000;

/** Times in milliseconds since 1970. */
export type ScheduleWindow = { start: number; end: number; due: number };

/** Returns the window of a schedule that follows the started ones. */
export function nextWindow(
  { start_time, interval_hours }: Pick<BulkExport, "start_time" | "interval_hours">,
  started: Pick<BulkExport, "end_time">[],
): ScheduleWindow {
  const length = (interval_hours ?? 0) * HOUR_MS;
  const ends = started.map(({ end_time }) => Date.parse(end_time ?? ""));
  const start = Math.max(Date.parse(start_time), ...ends.filter(Number.isFinite));
  return { start, end: start + length, due: start + length + DELAY_MS };
}

/** Counts the windows of a new schedule that are due at once. `next_end` is the end of the first one that is not. */
export function pastWindows(start: number, hours: number, now: number) {
  const length = hours * HOUR_MS;
  const count = Math.max(0, Math.floor((now - DELAY_MS - start) / length));
  return { count, next_end: start + (count + 1) * length };
}

export function dueText({ due }: ScheduleWindow, now: number): string {
  return due <= now ? "next one is due" : `next in ${formatDuration(due - now)}`;
}

/** Returns `1 Nov to 22 Nov`, in UTC, with times where a bound is not the start of a day. */
export function rangeText(
  { start_time, end_time }: Pick<BulkExport, "start_time" | "end_time">,
  now = new Date(),
): string {
  const start = boundText(start_time, now);
  return end_time === null ? `since ${start}` : `${start} to ${boundText(end_time, now)}`;
}

/** Returns `1 Nov`, in UTC, with its time where it is not the start of a day. */
export function boundText(iso: string, now: Date): string {
  const at = new Date(iso);
  if (Number.isNaN(at.getTime())) return iso;
  const time = at.toISOString().slice(11, 16);
  return `${formatDate(at, now)}${time === "00:00" ? "" : `, ${time}`}`;
}

type NamedExport = Pick<BulkExport, "start_time" | "end_time" | "interval_hours">;

/** Returns `Export of chat, 1 Nov to 22 Nov`, or `Export schedule of chat, every 6 h`. */
export function exportName(bulkExport: NamedExport, project: string, now = new Date()): string {
  return isSchedule(bulkExport)
    ? `Export schedule of ${project}, every ${bulkExport.interval_hours} h`
    : `Export of ${project}, ${rangeText(bulkExport, now)}`;
}
