import { PAYLOADS, type PayloadName } from "../changes.ts";
import type { Pointers, Position } from "../rows/rows.ts";
import type { RunView } from "../rows/run-view.ts";
import { TextPacker } from "../rows/text-packer.ts";
import { isUsage } from "../totals.ts";
import type { Usage } from "../usage.ts";
import type { RunReader } from "./run-reader.ts";
import { type ScanFilter, scanRuns } from "./scan-runs.ts";
import {
  isNumeric,
  type NumericColumn,
  type RunColumn,
  type ScanRange,
  type TextColumn,
} from "./scan-types.ts";

export type RowsQuery = ScanFilter &
  ScanRange & {
    columns: RunColumn[];
    with_ids: boolean;
    max_bytes: number;
  };
/** Payload in R2, and the row of the part that its text belongs to. */
export type R2Payload = { column: PayloadName; index: number; key: string };
/** Part of a page. `toColumns` decodes it. */
export type RowsPart = {
  rows: number;
  /** Ids of the rows, none unless the query has `with_ids`. */
  ids: string[];
  /** Doubles of each column of numbers, one after the other; NaN is null. */
  numbers: ArrayBuffer;
  /** Sizes of the texts of each column, one after the other. */
  sizes: ArrayBuffer;
  /** Packed texts of each column. */
  texts: ArrayBuffer[];
  /** Selected payloads of the rows that are in R2. */
  far: R2Payload[];
};
export type RowsPage = { parts: RowsPart[]; next: Position | null };

/** Bounds the memory of a part while its texts are joined. */
const PART_BYTES = 512 * 1024;
const PART_ROWS = 256;
/** Estimated size of ids, numbers and short texts. */
const ROW_BYTES = 200;
/** Texts that `ROW_BYTES` counts. */
const SHORT = new Set<RunColumn>([
  ...(["id", "trace_id", "parent_run_id", "status"] as const),
  ...(["total_cost", "prompt_cost", "completion_cost"] as const),
]);

/** Reads at least one row, then as many as fit. Payloads in R2 count with their size. */
export function readPage(reader: RunReader, query: RowsQuery): RowsPage {
  const page: RowsPage = { parts: [], next: null };
  const part = new OpenPart(reader, query);
  let last: RunView | null = null;
  let bytes = 0;
  for (const run of scanRuns(reader, query)) {
    const added = part.add(run);
    bytes += added;
    if (bytes > query.max_bytes && last !== null) {
      part.removeLast();
      page.next = { start_us: last.start_us, id: last.id };
      break;
    }
    if (part.isFull) page.parts.push(part.take());
    last = run;
  }
  if (part.rows > 0) page.parts.push(part.take());
  return page;
}

/** Column of numbers or texts while it is read. */
type NumberReader = {
  read: (run: RunView, usage: Usage | null) => number | null;
  cells: Float64Array;
};
type TextReader = {
  copy: (run: RunView, usage: Usage | null, to: TextPacker) => number;
  isCounted: boolean;
  cells: TextPacker;
};

class OpenPart {
  rows = 0;
  readonly #reader: RunReader;
  readonly #numbers: NumberReader[];
  readonly #texts: TextReader[];
  readonly #wanted: ReadonlySet<string>;
  readonly #hasUsage: boolean;
  readonly #withIds: boolean;
  #ids: string[] = [];
  #far: R2Payload[] = [];
  #bytes = 0;

  constructor(reader: RunReader, { columns, with_ids }: RowsQuery) {
    this.#reader = reader;
    this.#numbers = columns.filter(isNumeric).map(toNumberReader);
    this.#texts = columns.filter((name) => !isNumeric(name)).map(toTextReader);
    this.#wanted = new Set(columns);
    this.#hasUsage = columns.some(isUsage);
    this.#withIds = with_ids;
  }

  get isFull(): boolean {
    return this.rows === PART_ROWS || this.#bytes >= PART_BYTES;
  }

  /** Returns the size of the row, with its payloads in R2. */
  add(run: RunView): number {
    const usage = this.#hasUsage ? this.#reader.usage.summed(run) : null;
    let bytes = ROW_BYTES;
    for (const { copy, isCounted, cells } of this.#texts) {
      const size = copy(run, usage, cells);
      if (isCounted) bytes += size;
    }
    for (const { read, cells } of this.#numbers) cells[this.rows] = read(run, usage) ?? Number.NaN;
    if (this.#withIds) this.#ids.push(run.id);
    this.#bytes += bytes;
    for (const { column, key, bytes: size } of r2Payloads(run.pointers, this.#wanted)) {
      this.#far.push({ column, key, index: this.rows });
      bytes += size;
    }
    this.rows += 1;
    return bytes;
  }

  /** Removes the last row, after which no row is added. */
  removeLast(): void {
    this.rows -= 1;
    for (const { cells } of this.#texts) cells.removeLast();
    this.#far = this.#far.filter(({ index }) => index < this.rows);
    if (this.#withIds) this.#ids.pop();
  }

  /** Returns the rows, and removes them from the part. */
  take(): RowsPart {
    const { rows } = this;
    const [ids, far] = [this.#ids, this.#far];
    const taken = this.#texts.map(({ cells }) => cells.take());
    const numbers = join(
      Float64Array,
      rows,
      this.#numbers.map(({ cells }) => cells.subarray(0, rows)),
    );
    const sizes = join(
      Int32Array,
      rows,
      taken.map((one) => one.sizes),
    );
    this.rows = 0;
    this.#bytes = 0;
    this.#ids = [];
    this.#far = [];
    return { rows, ids, numbers, sizes, texts: taken.map(({ bytes }) => bytes), far };
  }
}

/** Joins columns of the same length. */
function join<T extends Float64Array | Int32Array>(
  Type: new (length: number) => T,
  rows: number,
  columns: T[],
): ArrayBuffer {
  const joined = new Type(rows * columns.length);
  for (const [n, column] of columns.entries()) joined.set(column, n * rows);
  return joined.buffer as ArrayBuffer;
}

function toNumberReader(name: NumericColumn): NumberReader {
  const cells = new Float64Array(PART_ROWS);
  if (isUsage(name)) return { read: (run, usage) => (usage ?? run)[name], cells };
  return { read: (run) => run[name], cells };
}

function toTextReader(name: TextColumn): TextReader {
  const isCounted = !SHORT.has(name);
  const cells = new TextPacker();
  if (!isUsage(name)) return { copy: (run, _, to) => run.copyText(to, name), isCounted, cells };
  return {
    copy(run, usage, to) {
      if (usage === null) return run.copyText(to, name);
      const cost = usage[name];
      return cost === null ? to.addNull() : to.encode(cost);
    },
    isCounted,
    cells,
  };
}

type SizedPayload = Omit<R2Payload, "index"> & { bytes: number };

function r2Payloads(text: string | null, wanted: ReadonlySet<string>): SizedPayload[] {
  if (text === null) return [];
  const pointers: Pointers = JSON.parse(text);
  return PAYLOADS.flatMap((column) => {
    const pointer = pointers[column];
    return pointer && wanted.has(column) ? [{ column, ...pointer }] : [];
  });
}
