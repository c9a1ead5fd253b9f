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

/** Returns the day of the trace's root when the root is in another partition. */
export function farRootDay(dotted_order: string, start_us: number): string | null {
  const [year, month, day] = [0, 4, 6].map((at) => dotted_order.slice(at, at === 0 ? 4 : at + 2));
  const root_day = `${year}-${month}-${day}`;
  return root_day === dayOf(start_us) ? null : root_day;
}

export function toDottedOrder(start_us: number, run_id: string): string {
  const ms = Math.floor(start_us / 1000);
  const iso = new Date(ms).toISOString().replaceAll(/[-:.]/g, "").slice(0, -1);
  return `${iso}${String(start_us - ms * 1000).padStart(3, "0")}Z${run_id}`;
}
