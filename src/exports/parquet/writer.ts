import type { ColumnChunk, RowGroup, SchemaTree } from "hyparquet";
import { ParquetWriter as FileFormat } from "hyparquet-writer";
import type { Column } from "../columns.ts";
import { addSizes, type Cells, countCells, sliceCells } from "./cells.ts";
import { chunkRange, moveChunk } from "./chunk.ts";
import { CODECS, type Codec } from "./codecs.ts";
import { ListColumn } from "./list-column.ts";
import { NumberColumn } from "./number-column.ts";
import type { OpenColumn } from "./open-column.ts";
import { PackedColumn } from "./packed-column.ts";
import { PartWriter } from "./part-writer.ts";
import { leafPaths, schemaOf } from "./schema.ts";
import { WordColumn } from "./word-column.ts";

/** A row group ends at whichever limit is reached first. Large groups need memory, small ones make the footer long. */
const GROUP_ROWS = 10_000;
const GROUP_BYTES = 8 * 1024 * 1024;

export type Compression = keyof typeof CODECS;

/** Rows by column: `rows` cells for each source. A cell of a list is a text that `items` of the column parses, or null. */
export type Batch = { rows: number; columns: Record<string, Cells> };

type WriterOptions = {
  compression: Compression;
  /** Sources with one value in the whole file; batches do not hold them. */
  constants?: Record<string, string>;
  /** Key-value metadata of the file. */
  metadata?: Record<string, string>;
};

/** Cells of one column in a batch. Where a cell of a list is null, the list is derived from `fallback`. */
type Input = { cells: Cells; fallback: Cells | undefined };

/** A Parquet file that grows by batches. The division of rows into batches does not change its bytes. */
export class ParquetWriter {
  readonly #columns: readonly Column[];
  readonly #openColumns: readonly OpenColumn[];
  readonly #codec: Codec;
  readonly #constants: Record<string, string>;
  readonly #file = new PartWriter();
  readonly #format: FileFormat;
  #groupRows = 0;
  #groupBytes = 0;

  constructor(columns: readonly Column[], options: WriterOptions) {
    const paths = leafPaths(columns);
    this.#columns = columns;
    this.#openColumns = columns.map((column, index) => openColumn(column, paths[index] ?? []));
    this.#codec = CODECS[options.compression]();
    this.#constants = options.constants ?? {};
    const metadata = Object.entries(options.metadata ?? {});
    this.#format = new FileFormat({
      writer: this.#file,
      schema: schemaOf(columns),
      codec: this.#codec.name,
      createdBy: "heddle",
      ...(metadata.length > 0 && { kvMetadata: metadata.map(([key, value]) => ({ key, value })) }),
    });
  }

  /** Rows of all closed row groups and of the open one. */
  get rows(): number {
    return Number(this.#format.num_rows) + this.#groupRows;
  }

  /** Size of all closed row groups in bytes, with the magic number before them. */
  get bytes(): number {
    return this.#file.offset;
  }

  /** Adds a batch. Returns the bytes of the row groups that it closes, possibly none. */
  write(batch: Batch): Uint8Array[] {
    const inputs = this.#columns.map(({ source, fallback }) => ({
      cells: this.#cellsOf(batch, source),
      fallback: fallback === undefined ? undefined : this.#cellsOf(batch, fallback),
    }));
    const sizes = new Float64Array(batch.rows);
    for (const { cells } of inputs) addSizes(sizes, cells);
    let added = 0;
    for (const [row, size] of sizes.entries()) {
      this.#groupBytes += size;
      this.#groupRows++;
      const isFull = this.#groupRows >= GROUP_ROWS || this.#groupBytes >= GROUP_BYTES;
      if (!isFull && row + 1 < batch.rows) continue;
      this.#append(inputs, added, row + 1);
      added = row + 1;
      if (isFull) this.#closeGroup();
    }
    // Holds back the magic number until the first row group.
    return this.#format.row_groups.length > 0 ? this.#file.take() : [];
  }

  /**
   * Adds a row group of another file with the same columns. Returns the bytes before the group. The caller sends them, and
   * then the column chunks of the group.
   */
  addGroup({ columns, num_rows }: RowGroup): Uint8Array[] {
    if (this.#groupRows > 0) this.#closeGroup();
    const bytes = this.#file.take();
    const start = this.#file.offset;
    const relocated = columns.map((chunk) => {
      const [from, to] = chunkRange(chunk);
      const entry = moveChunk(chunk, this.#file.offset);
      this.#file.offset += to - from;
      return entry;
    });
    this.#pushGroup(relocated, num_rows, start);
    return bytes;
  }

  /** Returns the remaining bytes, footer included. The writer cannot be used afterwards. */
  finish(): Uint8Array[] {
    if (this.#groupRows > 0) this.#closeGroup();
    // Synchronous for this writer.
    void this.#format.finish();
    return this.#file.take();
  }

  #cellsOf({ rows, columns }: Batch, source: string): Cells {
    const constant = this.#constants[source];
    if (constant !== undefined) return new Array(rows).fill(constant);
    const cells = columns[source];
    if (!cells || countCells(cells) !== rows) throw new Error(`${source}: not ${rows} rows`);
    return cells;
  }

  #append(inputs: readonly Input[], from: number, to: number): void {
    for (const [index, column] of this.#openColumns.entries()) {
      const { cells, fallback } = inputs[index] ?? { cells: [], fallback: undefined };
      column.add(sliceCells(cells, from, to), fallback && sliceCells(fallback, from, to));
    }
  }

  #closeGroup(): void {
    const start = this.#file.offset;
    const columns = this.#openColumns.map((column) => column.close(this.#file, this.#codec));
    this.#pushGroup(columns, BigInt(this.#groupRows), start);
    this.#groupRows = 0;
    this.#groupBytes = 0;
  }

  #pushGroup(columns: ColumnChunk[], num_rows: bigint, start: number): void {
    const uncompressed = columns.map(({ meta_data }) => meta_data?.total_uncompressed_size ?? 0n);
    this.#format.row_groups.push({
      columns,
      total_byte_size: uncompressed.reduce((sum, size) => sum + size, 0n),
      num_rows,
      total_compressed_size: BigInt(this.#file.offset - start),
    });
    this.#format.num_rows += num_rows;
  }
}

function openColumn(column: Column, path: SchemaTree[]): OpenColumn {
  if (column.type === "texts") return new ListColumn(column, path);
  if (column.type !== "text") return new NumberColumn(column, path);
  return column.dictionary ? new WordColumn(path) : new PackedColumn(path, column.isJson === true);
}
