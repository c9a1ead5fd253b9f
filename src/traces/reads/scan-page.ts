import { GAP_BYTES } from "../../shared/storage/packed-texts.ts";
import { PAYLOADS, type PayloadName } from "../changes.ts";
import type { Position } from "./query.ts";
import type { Pointers } from "./rows.ts";
import { conditionsOf, IN_ORDER, ORDER, type ScanFilter, valuesOf } from "./scan-conditions.ts";
import { isNumeric, type RunColumn, type ScanRange, type ScanValue } from "./scan-types.ts";

export type ReadQuery = ScanFilter &
  ScanRange & {
    columns: RunColumn[];
    /** Whether a part says which runs its rows are. */
    with_ids: boolean;
    max_bytes: number;
  };
/** A payload that lies in R2, and the row of the part where its text belongs. */
export type FarPayload = { column: PayloadName; index: number; key: string };
/** As SQLite makes it: whoever asked takes it apart, with `toColumns`. */
export type ReadPart = {
  rows: number;
  ids: string[];
  /** Of each row a JSON array: the sizes of its texts, then its numbers, each in the order that was asked for. */
  numbers: string;
  /** The texts of each column, packed. */
  texts: ArrayBuffer[];
  far: FarPayload[];
};
export type Read = { parts: ReadPart[]; next: Position | null };

/** A text has at most 1 MB, and no value of SQLite, such as the texts of a part, more than 2 MB. */
const PART_BYTES = 512 * 1024;
const PART_ROWS = 256;
/** Ids and numbers, which are short. */
const ROW_BYTES = 200;
const SHORT: readonly RunColumn[] = [
  ...(["id", "trace_id", "parent_run_id", "status"] as const),
  ...(["total_cost", "prompt_cost", "completion_cost"] as const),
];

/** One page: at least one row, and no more than fit. What lies in R2 counts as if it were here. */
export function readPage(sql: SqlStorage, query: ReadQuery): Read {
  const page: Read = { parts: [], next: null };
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

/** Each row's number, its pointers, and how long its texts are. */
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
  // Sorted are the few rows alone, then each is read: payloads never pass through a sorter.
  const rows = [...valuesOf(sql, `SELECT r.row FROM ${from} WHERE ${text} ${ORDER}`, params)];
  return valuesOf(sql, `SELECT ${list} FROM ${AMONG}`, [JSON.stringify(rows.flat())]);
}

function positionOf(sql: SqlStorage, row: number | undefined): Position | null {
  const [found] = valuesOf(sql, "SELECT start_us, id FROM runs WHERE row = ?", [row ?? null]);
  return found === undefined ? null : { start_us: Number(found[0]), id: String(found[1]) };
}

/** Rows by their numbers, in the order of these. */
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

  /** SQLite joins the values: handing over each of them would cost more than all else that is done with it. */
  read(sql: SqlStorage, { columns, with_ids }: Pick<ReadQuery, "columns" | "with_ids">): ReadPart {
    const among = JSON.stringify(this.rows);
    const texts = columns.filter((name) => !isNumeric(name));
    const numbers = columns.filter(isNumeric);
    const sizes = texts.map((name) => `octet_length(r.${name})`);
    const list = [
      `group_concat(json_array(${[...sizes, ...numbers.map((name) => `r.${name}`)].join()}))`,
      ...texts.map((name) => `CAST(group_concat(r.${name}, ${GAP}) AS BLOB)`),
    ];
    const [row = []] = sql
      .exec(`SELECT ${list.join()} FROM ${AMONG}`, among)
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
