import type { ColumnChunk, SchemaTree } from "hyparquet";
import { ByteWriter } from "hyparquet-writer";
import { writePlain } from "hyparquet-writer/src/plain.js";
import type { Column } from "../columns.ts";
import { type Cells, unpackCells } from "./cells.ts";
import { type DataPage, writeChunk } from "./chunk.ts";
import type { Codec } from "./codecs.ts";
import { encodeLevels } from "./levels.ts";
import type { OpenColumn } from "./open-column.ts";
import type { PartWriter } from "./part-writer.ts";

const NUMBER_BYTES = 8;
const WORD = 2 ** 32;
const INT64_LIMIT = 2 ** 63;

/** A column of numbers, times or booleans. Cells outside of the type become null. */
export class NumberColumn implements OpenColumn {
  readonly #column: Column;
  readonly #path: SchemaTree[];
  #values: number[] = [];
  #levels: number[] = [];

  constructor(column: Column, path: SchemaTree[]) {
    this.#column = column;
    this.#path = path;
  }

  add(cells: Cells): void {
    const isWhole = this.#column.type === "integer" || this.#column.type === "timestamp";
    const fits = isWhole ? isInt64 : Number.isFinite;
    for (const value of toNumbers(cells)) {
      this.#levels.push(fits(value) ? 1 : 0);
      if (fits(value)) this.#values.push(value);
    }
  }

  close(file: PartWriter, codec: Codec): ColumnChunk {
    const page = new ByteWriter();
    page.appendBytes(encodeLevels(this.#levels, 1));
    this.#writeValues(page);
    const count = this.#levels.length;
    const rest = { encoding: "PLAIN", count, statistics: this.#statistics() } as const;
    const chunk = writeChunk(file, this.#path, codec, { body: page.getBytes(), ...rest });
    this.#values = [];
    this.#levels = [];
    return chunk;
  }

  #writeValues(page: ByteWriter): void {
    const values = this.#values;
    if (this.#column.type === "boolean") {
      const booleans = values.map((value) => value !== 0);
      writePlain(page, booleans, "BOOLEAN", undefined);
      return;
    }
    page.ensure(NUMBER_BYTES * values.length);
    for (const value of values) {
      if (this.#column.type === "double") page.view.setFloat64(page.index, value, true);
      else writeInt64(page.view, page.index, value);
      page.index += NUMBER_BYTES;
    }
  }

  /** Readers skip row groups by minimum and maximum. */
  #statistics(): DataPage["statistics"] {
    const null_count = BigInt(this.#levels.length - this.#values.length);
    const [first] = this.#values;
    if (!this.#column.statistics || first === undefined) return { null_count };
    let [least, greatest] = [first, first];
    for (const value of this.#values) {
      least = Math.min(least, value);
      greatest = Math.max(greatest, value);
    }
    return { null_count, min_value: BigInt(least), max_value: BigInt(greatest) };
  }
}

/** @returns NaN for null */
function toNumbers(cells: Cells): Float64Array {
  if (cells instanceof Float64Array) return cells;
  return Float64Array.from(unpackCells(cells), (cell) => (cell === null ? Number.NaN : +cell));
}

/** Writes two halves of 32 bits: a `BigInt` for each cell costs more than the rest of the encoding. */
function writeInt64(view: DataView, at: number, value: number): void {
  const high = Math.floor(value / WORD);
  view.setUint32(at, value - high * WORD, true);
  view.setInt32(at + 4, high, true);
}

function isInt64(value: number): boolean {
  return Number.isInteger(value) && Math.abs(value) < INT64_LIMIT;
}
