import { zonedIso } from "../state/time-zone.ts";

const SECOND_MS = 1000;
const MINUTE_MS = 60 * SECOND_MS;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;

const MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/** Rounds down, so that the shown durations of parts never exceed that of the whole. */
export function formatDuration(ms: number): string {
  if (!Number.isFinite(ms) || ms < 0) return "";
  if (ms < SECOND_MS) return `${Math.floor(ms)} ms`;
  if (ms < MINUTE_MS) return `${(Math.floor(ms / 100) / 10).toFixed(1)} s`;
  if (ms < HOUR_MS) return pair(ms, MINUTE_MS, "min", SECOND_MS, "s");
  if (ms < DAY_MS) return pair(ms, HOUR_MS, "h", MINUTE_MS, "min");
  return pair(ms, DAY_MS, "d", HOUR_MS, "h");
}

function pair(ms: number, whole: number, name: string, part: number, partName: string): string {
  const rest = Math.floor((ms % whole) / part);
  return `${Math.floor(ms / whole)} ${name}${rest > 0 ? ` ${rest} ${partName}` : ""}`;
}

export function formatAge(ms: number): string {
  if (ms < 5 * SECOND_MS) return "now";
  if (ms < MINUTE_MS) return `${Math.floor(ms / SECOND_MS)} s ago`;
  if (ms < HOUR_MS) return `${Math.floor(ms / MINUTE_MS)} min ago`;
  if (ms < DAY_MS) return `${Math.floor(ms / HOUR_MS)} h ago`;
  return `${Math.floor(ms / DAY_MS)} d ago`;
}

/** Formats a time of today with seconds, one of this year with its date, and any other one as its date alone. */
export function formatTime(iso: string, now = new Date()): string {
  const at = new Date(iso);
  if (Number.isNaN(at.getTime())) return iso;
  const [zoned, today] = [zonedIso(at), zonedIso(now)];
  if (zoned.slice(0, 10) === today.slice(0, 10)) return zoned.slice(11, 19);
  const date = dateText(zoned, today);
  return zoned.slice(0, 4) === today.slice(0, 4) ? `${date}, ${zoned.slice(11, 16)}` : date;
}

/** Returns `1 Nov` in UTC, with the year when that is not the current one. */
export function formatDate(at: Date, now = new Date()): string {
  return dateText(at.toISOString(), now.toISOString());
}

function dateText(iso: string, today: string): string {
  const [year = "", month, day] = iso.slice(0, 10).split("-");
  const date = `${Number(day)} ${MONTHS[Number(month) - 1]}`;
  return today.startsWith(year) ? date : `${date} ${year}`;
}

export function formatNumber(value: number): string {
  return new Intl.NumberFormat("en-GB", { maximumFractionDigits: 2 }).format(value);
}

/** Shortens a number from 100,000 on. The exact number belongs in a title. */
export function formatShortNumber(value: number): string {
  if (Math.abs(value) < 100_000) return formatNumber(value);
  if (Math.abs(value) < 1e6) return `${Math.floor(value / 1000)} k`;
  return `${(Math.floor(value / 1e5) / 10).toFixed(1)} M`;
}

/** Formats bytes in powers of 1000, rounded down. */
export function formatBytes(bytes: number): string {
  if (bytes < 1000) return `${bytes} B`;
  if (bytes < 1e6) return `${Math.floor(bytes / 1000)} KB`;
  if (bytes < 1e9) return `${(Math.floor(bytes / 1e5) / 10).toFixed(1)} MB`;
  return `${(Math.floor(bytes / 1e8) / 10).toFixed(1)} GB`;
}

/** Formats a cost with four decimals below a dollar. Only a cost of zero is shown as zero. */
export function formatCost(dollars: number): string {
  if (dollars === 0) return "$0";
  if (dollars < 0.0001) return "< $0.0001";
  return dollars < 1
    ? `$${dollars.toFixed(4)}`
    : `$${formatNumber(Math.floor(dollars * 100) / 100)}`;
}

/** Formats a share of 1. Without `decimals`, a share above zero is at least 0.01%. */
export function formatPercent(fraction: number, decimals?: number): string {
  const percent = fraction * 100;
  if (decimals !== undefined) return `${percent.toFixed(decimals)}%`;
  if (percent === 0) return "0%";
  if (percent < 1) return `${Math.max(percent, 0.01).toFixed(2)}%`;
  return `${percent < 10 ? percent.toFixed(1) : Math.round(percent)}%`;
}

/** Returns the random end of an id. The first 8 digits of ids of version 7 are the same for about a minute. */
export function shortId(id: string): string {
  return id.slice(-8);
}

/** Returns `1 line`, `2 lines`. */
export function formatCount(count: number, noun: string): string {
  return `${formatNumber(count)} ${noun}${count === 1 ? "" : "s"}`;
}

/** Cuts a text after `max` characters, and adds an ellipsis. */
export function cutText(text: string, max: number): string {
  return text.length <= max ? text : `${text.slice(0, max)}…`;
}

/**
 * Control and format characters, such as marks of direction, and separators of lines. Leaves out line feeds, tabs, and
 * zero-width joiners and non-joiners, which scripts and emoji need.
 */
const INVISIBLE = /(?![\n\t\u200c\u200d])[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu;

/** Replaces characters that are invisible, or reorder the text around them, with visible escapes. */
export function showText(text: string): string {
  return text.replace(INVISIBLE, (character) => {
    return `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`;
  });
}
