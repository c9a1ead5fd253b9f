import { PAYLOADS, type PayloadName } from "../changes.ts";

import { columnWithUsage, isUsage, ROWS_WITH_USAGE } from "../rollup/usage-sql.ts";
import { GAP_BYTES } from "./packed-texts.ts";

import type { Position } from "./query.ts";
import type { Pointers } from "./rows.ts";
import { conditionsOf, IN_ORDER, ORDER, type ScanFilter, valuesOf } from "./scan-conditions.ts";
import { isNumeric, type RunColumn, type ScanRange, type ScanValue } from "./scan-types.ts";

export type RowsQuery = ScanFilter &
  ScanRange & {
    columns: RunColumn[];
    with_ids: boolean;
    max_bytes: number;
  };
/** Payload in R2, and the row of the part that its text belongs to. */
export type FarPayload = { column: PayloadName; index: number; key: string };
/** Part in SQLite's encoding; the caller decodes it with `toColumns`. */
export type RowsPart = {
  rows: number;
  ids: string[];
  /** JSON array per row: the sizes of its texts, then its numbers, in column order. */
  numbers: string;
  /** Packed texts of each column. */
  texts: ArrayBuffer[];
  far: FarPayload[];
};
export type RowsPage = { parts: RowsPart[]; next: Position | null };

/** Limits: 1 MB in a text, 2 MB in a value of SQLite such as the texts of a part. */
const PART_BYTES = 512 * 1024;
const PART_ROWS = 256;
/** Estimated size of ids and numbers. */
const ROW_BYTES = 200;
const SHORT: readonly RunColumn[] = [
  ...(["id", "trace_id", "parent_run_id", "status"] as const),
  ...(["total_cost", "prompt_cost", "completion_cost"] as const),
];

/** Reads at least one row, then as many as fit. Payloads in R2 count with their size. */
export function readPage(sql: SqlStorage, query: RowsQuery): RowsPage {
  const page: RowsPage = { parts: [], next: null };
  const wanted = new Set<string>(query.columns);
  let part = new OpenPart();
  let bytes = 0;
  for (const [row, pointers, inline] of readRows(sql, query)) {
    const far = farPayloads(pointers, wanted);
    const near = ROW_BYTES + Number(inline);
    bytes += near + far.reduce((sum, one) => sum + one.bytes, 0);
    if (bytes > query.max_bytes && part.rows.length > 0) {
      page.next = positionOf(sql, part.rows.at(-1));
      break;
    }
    if (part.isFull(near)) {
      page.parts.push(part.read(sql, query));
      part = new OpenPart();
    }
    part.add(Number(row), near, far);
  }
  if (part.rows.length > 0) page.parts.push(part.read(sql, query));
  return page;
}

/** Yields each row's number, its pointers and the size of its texts. */
function readRows(
  sql: SqlStorage,
  { columns, ...query }: ScanFilter & ScanRange & { columns: RunColumn[] },
): Iterable<ScanValue[]> {
  const long = columns.filter((name) => !isNumeric(name) && !SHORT.includes(name));
  const sizes = long.map((name) => `coalesce(octet_length(r.${name}), 0)`);
  const list = `r.row, r.pointers, ${["0", ...sizes].join(" + ")}`;
  const { from, text, params } = conditionsOf(sql, query)(query);
  if (from === IN_ORDER) {
    return valuesOf(sql, `SELECT ${list} FROM ${from} WHERE ${text} ${ORDER}`, params);
  }
  // Sorts row numbers only, then reads each row: payloads never pass through a sorter.
  const rows = [...valuesOf(sql, `SELECT r.row FROM ${from} WHERE ${text} ${ORDER}`, params)];
  return valuesOf(sql, `SELECT ${list} FROM ${AMONG}`, [JSON.stringify(rows.flat())]);
}

function positionOf(sql: SqlStorage, row: number | undefined): Position | null {
  const [found] = valuesOf(sql, "SELECT start_us, id FROM runs WHERE row = ?", [row ?? null]);
  return found === undefined ? null : { start_us: Number(found[0]), id: String(found[1]) };
}

/** Rows by number, in the given order. */
const AMONG = "json_each(?) j CROSS JOIN runs r ON r.row = j.value";
const GAP = `CAST(zeroblob(${GAP_BYTES}) AS TEXT)`;

class OpenPart {
  readonly rows: number[] = [];
  readonly #far: FarPayload[] = [];
  #bytes = 0;

  isFull(more: number): boolean {
    const { length } = this.rows;
    return length === PART_ROWS || (length > 0 && this.#bytes + more > PART_BYTES);
  }

  add(row: number, bytes: number, far: { column: PayloadName; key: string }[]): void {
    const index = this.rows.push(row) - 1;
    for (const { column, key } of far) this.#far.push({ column, key, index });
    this.#bytes += bytes;
  }

  /** Joins values inside SQLite: a call per value would dominate the cost of a scan. */
  read(sql: SqlStorage, { columns, with_ids }: Pick<RowsQuery, "columns" | "with_ids">): RowsPart {
    const among = JSON.stringify(this.rows);
    const texts = columns.filter((name) => !isNumeric(name));
    const numbers = columns.filter(isNumeric);
    const sizes = texts.map((name) => `octet_length(${columnWithUsage(name)})`);
    const list = [
      `group_concat(json_array(${[...sizes, ...numbers.map(columnWithUsage)].join()}))`,
      ...texts.map((name) => `CAST(group_concat(${columnWithUsage(name)}, ${GAP}) AS BLOB)`),
    ];
    const [row = []] = sql
      .exec(`SELECT ${list.join()} FROM ${columns.some(isUsage) ? ROWS_WITH_USAGE : AMONG}`, among)
      .raw<(string | ArrayBuffer | null)[]>();
    const [text, ...bytes] = row;
    return {
      rows: this.rows.length,
      ids: with_ids ? idsOf(sql, among) : [],
      numbers: `[${text}]`,
      texts: bytes.map((one) => (one instanceof ArrayBuffer ? one : new ArrayBuffer(0))),
      far: this.#far,
    };
  }
}

function idsOf(sql: SqlStorage, among: string): string[] {
  return [...valuesOf(sql, `SELECT r.id FROM ${AMONG}`, [among])].map(([id]) => String(id));
}

function farPayloads(text: ScanValue | undefined, wanted: Set<string>) {
  if (typeof text !== "string") return [];
  const pointers: Pointers = JSON.parse(text);
  return PAYLOADS.flatMap((column) => {
    const pointer = pointers[column];
    return pointer && wanted.has(column) ? [{ column, ...pointer }] : [];
  });
}
