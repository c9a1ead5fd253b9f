import type { ColumnChunk, SchemaTree } from "hyparquet";
import { ByteWriter } from "hyparquet-writer";
import { writePlain } from "hyparquet-writer/src/plain.js";
import {
  GAP_BYTES,
  isPacked,
  NULL_SIZE,
  type PackedTexts,
} from "../../traces/rows/packed-texts.ts";
import { type Cells, unpackCells } from "./cells.ts";
import { writeChunk } from "./chunk.ts";
import type { Codec } from "./codecs.ts";
import { encodeLevels } from "./levels.ts";
import { replaceLoneSurrogates } from "./lone-surrogates.ts";
import type { OpenColumn } from "./open-column.ts";
import type { PartWriter } from "./part-writer.ts";

/** Bytes before the values, for the levels of a row group: 10,000 levels of one bit take at most 2,504 bytes. */
const HEADROOM = 4096;
const INITIAL_BYTES = 64 * 1024;
/** Largest buffer that a column keeps for the next row group. */
const MAX_KEPT_BYTES = 8 * 1024 * 1024;

/**
 * A column of texts without a dictionary. SQLite joins texts with a gap of four bytes between two. One copy, and the
 * lengths in the gaps, make them PLAIN values.
 */
export class PackedColumn implements OpenColumn {
  readonly #path: SchemaTree[];
  readonly #isJson: boolean;
  #values = newBuffer();
  #levels: number[] = [];

  constructor(path: SchemaTree[], isJson: boolean) {
    this.#path = path;
    this.#isJson = isJson;
  }

  add(cells: Cells): void {
    if (isPacked(cells)) this.#addPacked(cells);
    else this.#addTexts(unpackCells(cells));
  }

  close(file: PartWriter, codec: Codec): ColumnChunk {
    const levels = encodeLevels(this.#levels, 1);
    const start = HEADROOM - levels.length;
    const body = new Uint8Array(this.#values.buffer).subarray(start, this.#values.index);
    if (this.#isJson) replaceLoneSurrogates(body);
    body.set(levels);
    const count = this.#levels.length;
    const nulls = this.#levels.reduce((sum, level) => sum - level, count);
    const statistics = { null_count: BigInt(nulls) };
    const page = { body, encoding: "PLAIN", count, statistics } as const;
    const chunk = writeChunk(file, this.#path, codec, page);
    this.#clear();
    return chunk;
  }

  #addTexts(cells: readonly (string | number | null)[]): void {
    const texts = cells.filter((cell) => cell !== null).map(String);
    writePlain(this.#values, texts, "BYTE_ARRAY", undefined);
    for (const cell of cells) this.#levels.push(cell === null ? 0 : 1);
  }

  #addPacked({ bytes, sizes }: PackedTexts): void {
    const values = this.#values;
    values.ensure(GAP_BYTES + bytes.length);
    new Uint8Array(values.buffer).set(bytes, values.index + GAP_BYTES);
    for (const size of sizes) {
      this.#levels.push(size === NULL_SIZE ? 0 : 1);
      if (size === NULL_SIZE) continue;
      values.view.setUint32(values.index, size, true);
      values.index += GAP_BYTES + size;
    }
  }

  /** Drops a buffer that is too large to keep, or above four times what this row group used. */
  #clear(): void {
    const { buffer, index } = this.#values;
    const limit = Math.min(MAX_KEPT_BYTES, Math.max(INITIAL_BYTES, 4 * index));
    if (buffer.byteLength > limit) this.#values = newBuffer();
    this.#values.index = HEADROOM;
    this.#levels = [];
  }
}

function newBuffer(): ByteWriter {
  const buffer = new ByteWriter(INITIAL_BYTES);
  buffer.index = HEADROOM;
  return buffer;
}
