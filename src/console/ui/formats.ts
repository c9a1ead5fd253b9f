import { zonedIso } from "../state/time-zone.ts";

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

const MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/** Cuts, never rounds up: parts must not exceed the whole. */
export function formatDuration(ms: number): string {
  if (!Number.isFinite(ms) || ms < 0) return "";
  if (ms < SECOND) return `${Math.floor(ms)} ms`;
  if (ms < MINUTE) return `${(Math.floor(ms / 100) / 10).toFixed(1)} s`;
  if (ms < HOUR) return pair(ms, MINUTE, "min", SECOND, "s");
  if (ms < DAY) return pair(ms, HOUR, "h", MINUTE, "min");
  return pair(ms, DAY, "d", HOUR, "h");
}

function pair(ms: number, whole: number, name: string, part: number, partName: string): string {
  const rest = Math.floor((ms % whole) / part);
  return `${Math.floor(ms / whole)} ${name}${rest > 0 ? ` ${rest} ${partName}` : ""}`;
}

export function formatAge(ms: number): string {
  if (ms < 5 * SECOND) return "now";
  if (ms < MINUTE) return `${Math.floor(ms / SECOND)} s ago`;
  if (ms < HOUR) return `${Math.floor(ms / MINUTE)} min ago`;
  if (ms < DAY) return `${Math.floor(ms / HOUR)} h ago`;
  return `${Math.floor(ms / DAY)} d ago`;
}

/** Today with seconds, this year without a year. */
export function formatTime(iso: string, now = new Date()): string {
  const at = new Date(iso);
  if (Number.isNaN(at.getTime())) return iso;
  const [zoned, today] = [zonedIso(at), zonedIso(now)];
  if (zoned.slice(0, 10) === today.slice(0, 10)) return zoned.slice(11, 19);
  const date = dateText(zoned, today);
  return zoned.slice(0, 4) === today.slice(0, 4) ? `${date}, ${zoned.slice(11, 16)}` : date;
}

/** `1 Nov`, and the year when it is another one. In UTC. */
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

/** For tiles and axes, where the exact number is the title. */
export function formatShortNumber(value: number): string {
  if (Math.abs(value) < 100_000) return formatNumber(value);
  if (Math.abs(value) < 1e6) return `${Math.floor(value / 1000)} k`;
  return `${(Math.floor(value / 1e5) / 10).toFixed(1)} M`;
}

/** In thousands, as S3 bills. */
export function formatBytes(bytes: number): string {
  if (bytes < 1000) return `${bytes} B`;
  if (bytes < 1e6) return `${Math.floor(bytes / 1000)} KB`;
  if (bytes < 1e9) return `${(Math.floor(bytes / 1e5) / 10).toFixed(1)} MB`;
  return `${(Math.floor(bytes / 1e8) / 10).toFixed(1)} GB`;
}

/** Four decimals below a dollar, and never zero for something. */
export function formatCost(dollars: number): string {
  if (dollars === 0) return "$0";
  if (dollars < 0.0001) return "< $0.0001";
  return dollars < 1
    ? `$${dollars.toFixed(4)}`
    : `$${formatNumber(Math.floor(dollars * 100) / 100)}`;
}

export function formatPercent(fraction: number, decimals?: number): string {
  const percent = fraction * 100;
  if (decimals !== undefined) return `${percent.toFixed(decimals)}%`;
  if (percent === 0) return "0%";
  if (percent < 1) return `${Math.max(percent, 0.01).toFixed(2)}%`;
  return `${percent < 10 ? percent.toFixed(1) : Math.round(percent)}%`;
}

/** The random end of an id. Ids that begin alike are of one minute. */
export function shortId(id: string): string {
  return id.slice(-8);
}

/** `1 line`, `2 lines`. */
export function formatCount(count: number, noun: string): string {
  return `${formatNumber(count)} ${noun}${count === 1 ? "" : "s"}`;
}

/** The start of a text, which shows that more follows. */
export function cutText(text: string, max: number): string {
  return text.length <= max ? text : `${text.slice(0, max)}…`;
}

/** Controls and marks of direction; joiners belong to scripts and emoji. */
const INVISIBLE = /(?![\n\t\u200c\u200d])[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu;

/** Shows as escapes what would be invisible or would reorder the text around it. */
export function showText(text: string): string {
  return text.replace(INVISIBLE, (character) => {
    return `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`;
  });
}
