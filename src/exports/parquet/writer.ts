import type { Column } from "../columns.ts";
import { writeChunk } from "./chunk.ts";
import { CODECS, type Codec } from "./codecs.ts";
import { type Cells, type Encoder, isPacked } from "./encoder.ts";
import { encoderOf } from "./encoders.ts";
import { footerOf, MAGIC, rowGroupOf } from "./footer.ts";

/** Whichever comes first: more rows would only take memory, fewer make the footer long. */
const GROUP_ROWS = 10_000;
const GROUP_BYTES = 8 * 1024 * 1024;

export type Compression = keyof typeof CODECS;

/** Columnar: one array, or packed texts, per column, all of the same number of rows. Lists are JSON text of an array of strings, or null. */
export type Batch = { rows: number; columns: Record<string, Cells> };

type WriterOptions = {
  compression: Compression;
  /** Sources that have one value in the whole file; batches do not hold them. */
  constants?: Record<string, string>;
  /** Key-value metadata of the file. */
  metadata?: Record<string, string>;
};

/** A column of the open row group. */
type OpenChunk = { column: Column; encoder: Encoder };

/** A Parquet file that grows by batches. Its bytes follow from the rows alone, however they are batched. */
export class ParquetWriter {
  readonly #columns: readonly Column[];
  readonly #chunks: readonly OpenChunk[];
  readonly #codec: Codec;
  readonly #constants: Record<string, string>;
  readonly #metadata: Record<string, string>;
  readonly #groups: Uint8Array[] = [];
  #groupRows = 0;
  #groupBytes = 0;
  #rows = 0;
  #bytes = 0;

  constructor(columns: readonly Column[], options: WriterOptions) {
    this.#columns = columns;
    this.#chunks = columns.map((column) => ({ column, encoder: encoderOf(column) }));
    this.#codec = CODECS[options.compression]();
    this.#constants = options.constants ?? {};
    this.#metadata = options.metadata ?? {};
  }

  get rows(): number {
    return this.#rows;
  }

  /** Written so far; the open row group is not. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Takes a batch; returns the bytes that are finished by it (whole row groups), possibly none. */
  write(batch: Batch): Uint8Array[] {
    const inputs = this.#chunks.map((chunk) => ({ ...chunk, ...this.#cellsOf(chunk, batch) }));
    const most = mostBytes(batch.rows, inputs);
    const parts: Uint8Array[] = [];
    let from = 0;
    while (from < batch.rows) {
      const to = this.#reach(most, from);
      for (const { encoder, cells, fallback } of inputs) {
        this.#groupBytes += encoder.add(cells, from, to, fallback);
      }
      this.#groupRows += to - from;
      from = to;
      if (this.#groupRows >= GROUP_ROWS || this.#groupBytes >= GROUP_BYTES) {
        parts.push(...this.#closeGroup());
      }
    }
    this.#rows += batch.rows;
    return parts;
  }

  /** The rest and the footer. The writer is spent. */
  finish(): Uint8Array[] {
    const rest = this.#groupRows > 0 ? this.#closeGroup() : this.#emit([]);
    return [
      ...rest,
      ...this.#emit([footerOf(this.#columns, this.#groups, this.#rows, this.#metadata)]),
    ];
  }

  #cellsOf({ column: { source, fallback } }: OpenChunk, batch: Batch) {
    return {
      cells: this.#sourceOf(batch, source),
      fallback: fallback === undefined ? undefined : this.#sourceOf(batch, fallback),
    };
  }

  #sourceOf({ rows, columns }: Batch, source: string): Cells {
    const constant = this.#constants[source];
    if (constant !== undefined) return new Array(rows).fill(constant);
    const cells = columns[source];
    if (!cells || rowsOf(cells) !== rows) throw new Error(`${source}: not ${rows} rows`);
    return cells;
  }

  /**
   * Up to which row all columns are taken at once: rows that surely leave the row group open, or
   * one. So it closes after the same row however the rows are batched.
   */
  #reach(most: Float64Array, from: number): number {
    const last = Math.min(most.length, from + GROUP_ROWS - this.#groupRows);
    let room = GROUP_BYTES - this.#groupBytes;
    let to = from;
    while (to < last) {
      room -= most[to] ?? 0;
      if (room <= 0) break;
      to++;
    }
    return Math.max(to, from + 1);
  }

  #closeGroup(): Uint8Array[] {
    const start = this.#bytes || MAGIC.length;
    let offset = start;
    const chunks = this.#chunks.map(({ column, encoder }) => {
      const chunk = writeChunk(column, encoder, this.#codec, offset);
      encoder.clear();
      offset += chunk.bytes;
      return chunk;
    });
    this.#groups.push(rowGroupOf(chunks, this.#groupRows, start, this.#groups.length));
    this.#groupRows = 0;
    this.#groupBytes = 0;
    return this.#emit(chunks.flatMap(({ parts }) => parts));
  }

  /** The file begins with its magic number, whatever comes first. */
  #emit(parts: readonly Uint8Array[]): Uint8Array[] {
    const all = this.#bytes === 0 ? [MAGIC, ...parts] : [...parts];
    for (const part of all) this.#bytes += part.length;
    return all;
  }
}

type Input = { column: Column; cells: Cells; fallback: Cells | undefined };

/** More than each row can add: what UTF-8 needs at most, and room for a number however it is written. */
function mostBytes(rows: number, inputs: readonly Input[]): Float64Array {
  const most = new Float64Array(rows).fill(32 * inputs.length);
  for (const { column, cells, fallback } of inputs) {
    // An item of a list may be shorter than its length is.
    if (column.type === "text") addMost(most, cells, 1);
    if (column.type === "texts") addMost(most, cells, 3);
    if (column.type === "texts" && fallback) addMost(most, fallback, 3);
  }
  return most;
}

function addMost(most: Float64Array, cells: Cells, times: number): void {
  if (isPacked(cells)) {
    for (const [row, size] of cells.sizes.entries()) most[row] = (most[row] ?? 0) + times * size;
    return;
  }
  for (const [row, cell] of cells.entries()) {
    if (typeof cell === "string") most[row] = (most[row] ?? 0) + 3 * cell.length;
  }
}

function rowsOf(cells: Cells): number {
  return isPacked(cells) ? cells.sizes.length : cells.length;
}
