import { dayOf, isFourDigitYear } from "../shared/times.ts";

const SEGMENT =
  /^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)(\d{6})Z([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})$/i;

export type Lineage = {
  /** Ids from the root to the parent. */
  parent_run_ids: string[];
  trace_id: string;
  run_id: string;
  start_us: number;
};

/**
 * Parses segments of time and id, from the root to the run. Returns `null` when the text is
 * malformed.
 */
export function parseDottedOrder(text: string): Lineage | null {
  const ids: string[] = [];
  let start_us = 0;
  for (const segment of text.split(".")) {
    const match = SEGMENT.exec(segment);
    if (!match) return null;
    const [, year, month, day, hour, minute, second, micros, id = ""] = match;
    ids.push(id.toLowerCase());
    const ms = Date.parse(`${year}-${month}-${day}T${hour}:${minute}:${second}Z`);
    start_us = ms * 1000 + Number(micros);
    if (!isFourDigitYear(start_us)) return null;
  }
  const run_id = ids.pop() ?? "";
  return { parent_run_ids: ids, trace_id: ids[0] ?? run_id, run_id, start_us };
}

/** @returns the day of the trace's root, `null` when it is the day of the run or unknown */
export function rootDayOf(run: { dotted_order: string | null; start_us: number }): string | null {
  const { dotted_order, start_us } = run;
  if (dotted_order === null) return null;
  const [year, month, day] = [0, 4, 6].map((at) => dotted_order.slice(at, at === 0 ? 4 : at + 2));
  const root_day = `${year}-${month}-${day}`;
  return root_day === dayOf(start_us) ? null : root_day;
}

/** Returns the last part of a run's dotted order, which is the whole order of a root run. */
export function toDottedOrder(start_us: number, run_id: string): string {
  const second = Math.floor(start_us / SECOND_US);
  const micros = String(start_us - second * SECOND_US).padStart(6, "0");
  return `${textOfSecond(second)}${micros}Z${run_id}`;
}

const SECOND_US = 1_000_000;
const [MINUTE_S, HOUR_S, DAY_S] = [60, 3600, 86_400];
const TWO_DIGITS = Array.from({ length: 60 }, (_, n) => String(n).padStart(2, "0"));
let last = { day: Number.NaN, text: "" };

/** Keeps the text of the last day: formatting a date costs more than all the rest. */
function textOfSecond(second: number): string {
  const day = Math.floor(second / DAY_S);
  if (day !== last.day) {
    const iso = new Date(day * DAY_S * 1000).toISOString();
    last = { day, text: iso.slice(0, iso.indexOf("T")).replaceAll("-", "") };
  }
  const rest = second - day * DAY_S;
  const hour = TWO_DIGITS[Math.floor(rest / HOUR_S)];
  const minute = TWO_DIGITS[Math.floor(rest / MINUTE_S) % 60];
  return `${last.text}T${hour}${minute}${TWO_DIGITS[rest % 60]}`;
}
