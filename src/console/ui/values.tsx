import { useEffect, useState } from "react";
import {
  formatAge,
  formatBytes,
  formatCost,
  formatDuration,
  formatNumber,
  formatShortNumber,
  formatTime,
  shortId,
} from "./formats.ts";

const TICK_MS = 1000;
const DAY_MS = 24 * 60 * 60 * 1000;

/** Returns the current time in milliseconds. Draws the component again each second while `isRunning`. */
export function useNow(isRunning = true): number {
  const [now, setNow] = useState(Date.now());
  useEffect(() => {
    if (!isRunning) return;
    const timer = setInterval(() => setNow(Date.now()), TICK_MS);
    return () => clearInterval(timer);
  }, [isRunning]);
  return now;
}

/** Shows the age of a time below a day, else the time. `exact` shows the time always. The title is the ISO time. */
export function Time({ at, exact = false }: { at: string | null; exact?: boolean }) {
  const now = useNow(!exact);
  if (at === null) return null;
  const age = now - Date.parse(at);
  const isRelative = !exact && age < DAY_MS;
  return (
    <time dateTime={at} title={at} className="nw">
      {isRelative ? formatAge(age) : formatTime(at)}
    </time>
  );
}

/** Shows an id, or with `isShort` its random end. The title has the whole id. */
export function Id({ id, isShort = false }: { id: string; isShort?: boolean }) {
  return (
    <code className="sha" title={id}>
      {isShort ? shortId(id) : id}
    </code>
  );
}

export function Duration({ ms }: { ms: number | null }) {
  return ms === null ? null : <span className="nw">{formatDuration(ms)}</span>;
}

/** Shows the time between two moments. It grows while `end` is `null`. */
export function Elapsed({ start, end }: { start: string; end: string | null }) {
  const now = useNow(end === null);
  return <Duration ms={Math.max(0, (end === null ? now : Date.parse(end)) - Date.parse(start))} />;
}

export function Quantity({ value, short = false }: { value: number | null; short?: boolean }) {
  if (value === null) return null;
  const exact = formatNumber(value);
  return <span title={exact}>{short ? formatShortNumber(value) : exact}</span>;
}

export function Bytes({ value }: { value: number | null }) {
  return value === null ? null : <span title={`${value} bytes`}>{formatBytes(value)}</span>;
}

export function Cost({ dollars }: { dollars: number | null }) {
  return dollars === null ? null : <span title={`$${dollars}`}>{formatCost(dollars)}</span>;
}
