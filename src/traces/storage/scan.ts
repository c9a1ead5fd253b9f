import { Buffer } from "node:buffer";
import { DAY_US } from "../../shared/times.ts";
import { PAYLOADS, type PayloadName } from "../changes.ts";
import type { Compiled } from "../filter/compile.ts";
import type { RunColumn, ScanChunk, ScanRange, ScanValue } from "../scan.ts";
import { narrow, type Position } from "./query.ts";
import type { Pointers } from "./rows.ts";

/** The filter, and queries of the index that give each row it can match. */
export type ScanFilter = { filter: Compiled | null; candidates: Compiled[] };

export type PlanQuery = ScanFilter &
  Omit<ScanRange, "until"> & { max_rows: number; max_bytes: number };
export type Piece = Omit<ScanChunk, "place">;
/** `next` is where a plan of more pieces than one answer holds goes on. */
export type Plan = { pieces: Piece[]; next: Position | null };

export type ReadQuery = ScanFilter & ScanRange & { columns: RunColumn[]; max_bytes: number };
/** A payload that lies in R2, and the place in the page where its text belongs. */
export type FarPayload = { column: PayloadName; index: number; key: string };
export type Read = {
  ids: string[];
  columns: Record<string, ScanValue[]>;
  far: FarPayload[];
  next: Position | null;
};

type Condition = { from: string; text: string; params: ScanValue[] };

const MAX_PIECES = 1000;
const SAMPLES = 1000;
/** What a row has beside its payloads. */
const ROW_BYTES = 400;
const VALUE_BYTES = 8;
/** Shorter than this a text's characters are as good as its bytes. */
const SHORT = 100;

/** The two verbs of exports: plan a range, read a piece of it. */
export class Scan {
  readonly #sql: SqlStorage;

  constructor(sql: SqlStorage) {
    this.#sql = sql;
  }

  /** Pieces end where the index says so: nothing but their edges leaves SQLite. */
  plan(query: PlanQuery): Plan {
    const { min_seq, max_seq } = query;
    const bytes = this.#averageBytes();
    const limit = Math.max(1, Math.min(query.max_rows, Math.floor(query.max_bytes / bytes)));
    const edgesOf = this.#edges(query);
    const pieces: Piece[] = [];
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

  /** One page: at least one row, and no more than fit. What lies in R2 counts as if it were here. */
  read({ columns, max_bytes, ...query }: ReadQuery): Read {
    const values: ScanValue[][] = columns.map(() => []);
    const page: Read = { ids: [], columns: {}, far: [], next: null };
    const wanted = new Set<string>(columns);
    let bytes = 0;
    let last: Position | null = null;
    for (const [start_us, id, pointers, ...row] of this.#rows(columns, query)) {
      const far = farPayloads(pointers, wanted);
      bytes += bytesOf(row) + far.reduce((sum, one) => sum + one.bytes, 0);
      if (last !== null && bytes > max_bytes) {
        page.next = last;
        break;
      }
      for (const { column, key } of far) page.far.push({ column, key, index: page.ids.length });
      for (let i = 0; i < row.length; i++) values[i]?.push(row[i] ?? null);
      last = { start_us: Number(start_us), id: String(id) };
      page.ids.push(last.id);
    }
    page.columns = Object.fromEntries(columns.map((name, i) => [name, values[i] ?? []]));
    return page;
  }

  #rows(columns: RunColumn[], query: ScanFilter & ScanRange): Iterable<ScanValue[]> {
    const list = ["start_us", "id", "pointers", ...columns].map((name) => `r.${name}`).join();
    const { from, text, params } = this.#conditionOf(query)(query);
    if (from === "runs r") {
      // Sorted are the few rows alone, then each is read: payloads never pass through a sorter.
      const rows = this.#numbers(`SELECT r.row FROM ${from} WHERE ${text} ${ORDER}`, params);
      const among = "json_each(?) j CROSS JOIN runs r ON r.row = j.value";
      return this.#raw(`SELECT ${list} FROM ${among}`, [JSON.stringify(rows)]);
    }
    return this.#raw(`SELECT ${list} FROM ${from} WHERE ${text} ${ORDER}`, params);
  }

  #edges(query: ScanFilter & Pick<ScanRange, "min_seq" | "max_seq">) {
    const conditionOf = this.#conditionOf(query);
    return (range: ScanRange) => {
      const { from, text, params } = conditionOf(range);
      const at = (offset: number): Position | undefined => {
        const select = `SELECT r.start_us, r.id FROM ${from} WHERE ${text} ${ORDER}`;
        const [row] = this.#raw(`${select} LIMIT 1 OFFSET ${offset}`, params);
        return row && { start_us: Number(row[0]), id: String(row[1]) };
      };
      const count = () =>
        this.#numbers(`SELECT count(*) FROM ${from} WHERE ${text}`, params)[0] ?? 0;
      return { at, count };
    };
  }

  /** Rows are numbered as they come, and the number is in every index: it stands for the sequence. */
  #conditionOf(query: ScanFilter & Pick<ScanRange, "min_seq" | "max_seq">) {
    const { filter, candidates, min_seq, max_seq } = query;
    const among = narrow(this.#sql, candidates);
    const last = this.#numbers("SELECT max(row) FROM runs")[0] ?? 0;
    const least = min_seq === null ? 0 : this.#lastRow(min_seq, last);
    const greatest = this.#lastRow(max_seq, last);
    const tests: string[] = [];
    if (filter !== null) tests.push(`(${filter.sql})`);
    if (among !== null) tests.push("r.row IN (SELECT value FROM json_each(?))");
    if (least > 0) tests.push(`+r.row > ${least}`);
    if (greatest < last) tests.push(`+r.row <= ${greatest}`);
    const bound = [...(filter?.params ?? []), ...(among === null ? [] : [JSON.stringify(among)])];
    // Without candidates the order of the index is what keeps a page from reading the whole day.
    const from = among === null ? "runs r INDEXED BY runs_by_start" : "runs r";
    return (range: ScanRange): Condition => {
      const edges = rangeTests(range);
      const text = [...tests, ...edges.map((edge) => edge.text)].join(" AND ");
      return { from, text, params: [...bound, ...edges.flatMap(({ params }) => params)] };
    };
  }

  /** The last row that came with the sequence or before it. */
  #lastRow(seq: number, last: number): number {
    let [low, high] = [0, last];
    let middle = high;
    while (low < high) {
      const [found = 0] = this.#numbers(
        "SELECT seq FROM runs WHERE row >= ? ORDER BY row LIMIT 1",
        [middle],
      );
      if (found <= seq) low = middle;
      else high = middle - 1;
      middle = Math.ceil((low + high) / 2);
    }
    return low;
  }

  #averageBytes(): number {
    const last = this.#numbers("SELECT max(row) FROM runs")[0] ?? 0;
    const step = Math.max(1, Math.floor(last / SAMPLES));
    const sample = Array.from({ length: Math.ceil(last / step) }, (_, i) => last - i * step);
    const inline = PAYLOADS.map((name) => `coalesce(octet_length(${name}), 0)`).join(" + ");
    const far = `(SELECT coalesce(sum(value->>'bytes'), 0) FROM json_each(pointers)
      WHERE key <> 'attachments')`;
    const [average = 0] = this.#numbers(
      `SELECT avg(${inline} + ${far}) FROM runs WHERE row IN (SELECT value FROM json_each(?))`,
      [JSON.stringify(sample)],
    );
    return ROW_BYTES + average;
  }

  #numbers(text: string, params: ScanValue[] = []): number[] {
    return [...this.#raw(text, params)].map(([value]) => Number(value ?? 0));
  }

  #raw(text: string, params: ScanValue[]): Iterable<ScanValue[]> {
    return this.#sql.exec(text, ...params).raw<ScanValue[]>();
  }
}

const ORDER = "ORDER BY r.start_us, r.id";

/** One lower and one upper edge: of two, SQLite would seek by the first it likes. */
function rangeTests({ from_us, to_us, after, until }: ScanRange) {
  const lower =
    after === null
      ? { text: `r.start_us >= ${from_us}`, params: [] }
      : { text: `(r.start_us, r.id) > (${after.start_us}, ?)`, params: [after.id] };
  const upper =
    until === null
      ? { text: `r.start_us < ${to_us}`, params: [] }
      : { text: `(r.start_us, r.id) <= (${until.start_us}, ?)`, params: [until.id] };
  return [lower, upper];
}

/** The part of the range that lies on the day of the position. */
function dayOf({ start_us }: Position, { from_us, to_us }: Pick<ScanRange, "from_us" | "to_us">) {
  const midnight = Math.floor(start_us / DAY_US) * DAY_US;
  return { from_us: Math.max(from_us, midnight), to_us: Math.min(to_us, midnight + DAY_US) };
}

function bytesOf(row: ScanValue[]): number {
  let bytes = 0;
  for (const value of row) {
    if (typeof value !== "string") bytes += VALUE_BYTES;
    else bytes += value.length < SHORT ? value.length : Buffer.byteLength(value);
  }
  return bytes;
}

function farPayloads(text: ScanValue | undefined, wanted: Set<string>) {
  if (typeof text !== "string") return [];
  const pointers: Pointers = JSON.parse(text);
  return PAYLOADS.flatMap((column) => {
    const pointer = pointers[column];
    return pointer && wanted.has(column) ? [{ column, ...pointer }] : [];
  });
}
