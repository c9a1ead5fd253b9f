import { DAY_US } from "../../shared/times.ts";
import { PAYLOADS } from "../changes.ts";
import type { Position } from "./query.ts";
import { conditionsOf, numbersOf, ORDER, type ScanFilter, valuesOf } from "./scan-conditions.ts";
import type { ScanChunk, ScanRange } from "./scan-types.ts";

export type ScanPlanQuery = ScanFilter &
  Omit<ScanRange, "until"> & { max_rows: number; max_bytes: number };
export type ScanPiece = Omit<ScanChunk, "partition">;
/** Pieces of a scan; `next` is the start of the next page of the plan. */
export type ScanPlanPage = { pieces: ScanPiece[]; next: Position | null };

const MAX_PIECES = 1000;
const SAMPLES = 1000;
/** Estimated size of a row without payloads. */
const ROW_BYTES = 400;

/** Plans what an export reads. */
export class Scan {
  readonly #sql: SqlStorage;

  constructor(sql: SqlStorage) {
    this.#sql = sql;
  }

  /** Cuts by index positions, so that only edges leave SQLite. */
  plan(query: ScanPlanQuery): ScanPlanPage {
    const { min_seq, max_seq } = query;
    const bytes = this.#averageBytes();
    const limit = Math.max(1, Math.min(query.max_rows, Math.floor(query.max_bytes / bytes)));
    const edgesOf = this.#edges(query);
    const pieces: ScanPiece[] = [];
    let { after } = query;
    while (pieces.length < MAX_PIECES) {
      const first = edgesOf({ ...query, after, until: null }).at(0);
      if (first === undefined) return { pieces, next: null };
      const { from_us, to_us } = dayOf(first, query);
      const inside = after !== null && after.start_us >= from_us ? after : null;
      const range = { from_us, to_us, after: inside, until: null, min_seq, max_seq };
      const until = edgesOf(range).at(limit - 1) ?? null;
      const rows = until === null ? edgesOf(range).count() : limit;
      pieces.push({ ...range, until, rows, bytes: Math.round(rows * bytes) });
      after = until ?? { start_us: to_us, id: "" };
    }
    return { pieces, next: after };
  }

  #edges(query: ScanFilter & Pick<ScanRange, "min_seq" | "max_seq">) {
    const conditionOf = conditionsOf(this.#sql, query);
    return (range: ScanRange) => {
      const { from, text, params } = conditionOf(range);
      const at = (offset: number): Position | undefined => {
        const select = `SELECT r.start_us, r.id FROM ${from} WHERE ${text} ${ORDER}`;
        const [row] = valuesOf(this.#sql, `${select} LIMIT 1 OFFSET ${offset}`, params);
        return row && { start_us: Number(row[0]), id: String(row[1]) };
      };
      const count = () =>
        numbersOf(this.#sql, `SELECT count(*) FROM ${from} WHERE ${text}`, params)[0] ?? 0;
      return { at, count };
    };
  }

  #averageBytes(): number {
    const last = numbersOf(this.#sql, "SELECT max(row) FROM runs")[0] ?? 0;
    const step = Math.max(1, Math.floor(last / SAMPLES));
    const sample = Array.from({ length: Math.ceil(last / step) }, (_, i) => last - i * step);
    const inline = PAYLOADS.map((name) => `coalesce(octet_length(${name}), 0)`).join(" + ");
    const far = `(SELECT coalesce(sum(value->>'bytes'), 0) FROM json_each(pointers)
      WHERE key <> 'attachments')`;
    const [average = 0] = numbersOf(
      this.#sql,
      `SELECT avg(${inline} + ${far}) FROM runs WHERE row IN (SELECT value FROM json_each(?))`,
      [JSON.stringify(sample)],
    );
    return ROW_BYTES + average;
  }
}

/** Returns the part of the range on the position's day. */
function dayOf({ start_us }: Position, { from_us, to_us }: Pick<ScanRange, "from_us" | "to_us">) {
  const midnight = Math.floor(start_us / DAY_US) * DAY_US;
  return { from_us: Math.max(from_us, midnight), to_us: Math.min(to_us, midnight + DAY_US) };
}
