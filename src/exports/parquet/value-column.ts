import type { ColumnChunk, SchemaTree } from "hyparquet";
import { ByteWriter } from "hyparquet-writer";
import { useDictionary, writeDictionaryPage } from "hyparquet-writer/src/dictionary.js";
import { encodeNestedValues } from "hyparquet-writer/src/dremel.js";
import { writeRleBitPackedHybrid } from "hyparquet-writer/src/encoding.js";
import { writePlain } from "hyparquet-writer/src/plain.js";
import type { Column } from "../columns.ts";
import { type Cells, toValues } from "./cells.ts";
import { type DataPage, type Dictionary, writeChunk } from "./chunk.ts";
import type { Codec } from "./codecs.ts";
import { encodeLevels } from "./levels.ts";
import type { OpenColumn } from "./open-column.ts";
import type { PartWriter } from "./part-writer.ts";

/** A column of numbers, booleans, lists or texts with a dictionary: values are encoded when the row group closes. */
export class ValueColumn implements OpenColumn {
  readonly #column: Column;
  readonly #path: SchemaTree[];
  #rows: unknown[] = [];

  constructor(column: Column, path: SchemaTree[]) {
    this.#column = column;
    this.#path = path;
  }

  add(cells: Cells, fallback: Cells | undefined): void {
    for (const value of toValues(this.#column, cells, fallback)) this.#rows.push(value);
  }

  close(file: PartWriter, codec: Codec): ColumnChunk {
    const page = new ByteWriter();
    const encoded = encodeNestedValues(this.#path, this.#rows);
    this.#rows = [];
    const { definitionLevels, repetitionLevels } = encoded;
    const isList = repetitionLevels.length > 0;
    if (isList) page.appendBytes(encodeLevels(repetitionLevels, 1));
    page.appendBytes(encodeLevels(definitionLevels, isList ? 2 : 1));
    const values = Array.from(encoded.values).filter((value) => value != null);
    const count = definitionLevels.length;
    const rest = { count, statistics: this.#statistics(values, count) };
    // Some readers refuse an empty dictionary.
    if (!this.#column.dictionary || values.length === 0) {
      writePlain(page, values, this.#type, undefined);
      return this.#write(file, codec, { ...rest, body: page.getBytes(), encoding: "PLAIN" });
    }
    const dictionary = this.#writeDictionary(file, codec, values, page);
    const data = { ...rest, body: page.getBytes(), encoding: "RLE_DICTIONARY" } as const;
    return this.#write(file, codec, data, dictionary);
  }

  #write(file: PartWriter, codec: Codec, page: DataPage, dictionary?: Dictionary): ColumnChunk {
    return writeChunk(file, this.#path, codec, page, dictionary);
  }

  get #element() {
    const leaf = this.#path.at(-1);
    if (!leaf) throw new Error(`${this.#column.name}: not in the schema`);
    return leaf.element;
  }

  get #type() {
    return this.#element.type ?? "BYTE_ARRAY";
  }

  /** Writes the dictionary to the file and the indexes to the page. */
  #writeDictionary(file: PartWriter, codec: Codec, values: unknown[], page: ByteWriter) {
    // biome-ignore lint/correctness/useHookAtTopLevel: not a hook of React
    const encoded = useDictionary(values, this.#type, undefined, "RLE_DICTIONARY");
    const { dictionary = [], indexes = [] } = encoded;
    const offset = file.offset;
    const encoder = {
      columnName: this.#column.name,
      element: this.#element,
      schemaPath: this.#path.map(({ element }) => element),
      codec: codec.name,
      compressors: { [codec.name]: codec.compress },
    };
    const raw_bytes = writeDictionaryPage(file, encoder, dictionary);
    const bit_width = Math.max(1, 32 - Math.clz32(dictionary.length - 1));
    page.appendUint8(bit_width);
    writeRleBitPackedHybrid(page, indexes, bit_width);
    return { offset, raw_bytes };
  }

  /** Readers skip row groups by minimum and maximum. Lists have none: readers disagree on their nulls. */
  #statistics(values: unknown[], count: number): DataPage["statistics"] {
    if (this.#column.type === "texts") return undefined;
    const null_count = BigInt(count - values.length);
    const numbers = values.filter((value) => typeof value === "bigint");
    const [first, ...others] = numbers;
    if (!this.#column.statistics || first === undefined) return { null_count };
    let [min_value, max_value] = [first, first];
    for (const value of others) {
      if (value < min_value) min_value = value;
      if (value > max_value) max_value = value;
    }
    return { null_count, min_value, max_value };
  }
}
