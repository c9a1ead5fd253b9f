import type { ColumnChunk, SchemaTree } from "hyparquet";
import { ByteWriter } from "hyparquet-writer";
import { writeDictionaryPage } from "hyparquet-writer/src/dictionary.js";
import { writeRleBitPackedHybrid } from "hyparquet-writer/src/encoding.js";
import { type Cells, unpackCells } from "./cells.ts";
import { writeChunk } from "./chunk.ts";
import type { Codec } from "./codecs.ts";
import { encodeLevels } from "./levels.ts";
import type { OpenColumn } from "./open-column.ts";
import type { PartWriter } from "./part-writer.ts";

/** A column of texts with a dictionary. */
export class WordColumn implements OpenColumn {
  readonly #path: SchemaTree[];
  readonly #words = new Map<string, number>();
  #indexes: number[] = [];
  #levels: number[] = [];

  constructor(path: SchemaTree[]) {
    this.#path = path;
  }

  add(cells: Cells): void {
    for (const cell of unpackCells(cells)) {
      this.#levels.push(cell === null ? 0 : 1);
      if (cell !== null) this.#indexes.push(this.#indexOf(String(cell)));
    }
  }

  close(file: PartWriter, codec: Codec): ColumnChunk {
    const page = new ByteWriter();
    page.appendBytes(encodeLevels(this.#levels, 1));
    const count = this.#levels.length;
    const statistics = { null_count: BigInt(count - this.#indexes.length) };
    // Some readers refuse an empty dictionary.
    const hasWords = this.#words.size > 0;
    const dictionary = hasWords ? this.#writeDictionary(file, codec, page) : undefined;
    const encoding = hasWords ? "RLE_DICTIONARY" : "PLAIN";
    const data = { body: page.getBytes(), encoding, count, statistics } as const;
    const chunk = writeChunk(file, this.#path, codec, data, dictionary);
    this.#words.clear();
    this.#indexes = [];
    this.#levels = [];
    return chunk;
  }

  #indexOf(word: string): number {
    const known = this.#words.get(word);
    if (known !== undefined) return known;
    this.#words.set(word, this.#words.size);
    return this.#words.size - 1;
  }

  #writeDictionary(file: PartWriter, codec: Codec, page: ByteWriter) {
    const words = [...this.#words.keys()];
    const elements = this.#path.map(({ element }) => element);
    const element = elements.at(-1) ?? { name: "" };
    const offset = file.offset;
    const encoder = {
      ...{ columnName: element.name, element, schemaPath: elements },
      ...{ codec: codec.name, compressors: { [codec.name]: codec.compress } },
    };
    const raw_bytes = writeDictionaryPage(file, encoder, words);
    const bit_width = Math.max(1, 32 - Math.clz32(words.length - 1));
    page.appendUint8(bit_width);
    writeRleBitPackedHybrid(page, this.#indexes, bit_width);
    return { offset, raw_bytes };
  }
}
