const KEY = "heddle-times";
const isLocal = globalThis.localStorage?.getItem(KEY) === "local";
const MINUTE_MS = 60_000;

/** Name of the zone in which times are shown: `UTC`, or `local time`. Days of storage and of bills stay UTC. */
export const ZONE = isLocal ? "local time" : "UTC";

/** Returns a moment as ISO fields of the zone, without its suffix: `2026-11-28T04:10:00.000`. */
export function zonedIso(at: Date): string {
  const offset = isLocal ? at.getTimezoneOffset() : 0;
  return new Date(at.getTime() - offset * MINUTE_MS).toISOString().slice(0, -1);
}

/** @returns milliseconds since 1970 of ISO fields of the zone, `null` for a text that is not a time */
export function fromZonedIso(text: string): number | null {
  const ms = Date.parse(isLocal ? text : `${text}Z`);
  return Number.isNaN(ms) ? null : ms;
}

/** Switches between UTC and the zone of the browser from the next load of the page. */
export function switchZone(): void {
  localStorage.setItem(KEY, isLocal ? "UTC" : "local");
}
