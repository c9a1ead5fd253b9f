import type { ColumnChunk, SchemaTree } from "hyparquet";
import { ByteWriter } from "hyparquet-writer";
import { writeAscii } from "../../traces/rows/packed-texts.ts";
import type { Column } from "../columns.ts";
import { type Cells, unpackCells } from "./cells.ts";
import { writeChunk } from "./chunk.ts";
import type { Codec } from "./codecs.ts";
import { encodeLevels } from "./levels.ts";
import type { OpenColumn } from "./open-column.ts";
import type { PartWriter } from "./part-writer.ts";

type Items = readonly (string | null)[];

const utf8 = new TextEncoder();
const LENGTH_BYTES = 4;
/** Definition levels: the list is null, it is empty, the item is null, the item is a text. */
const [NO_LIST, EMPTY, NO_ITEM, ITEM] = [0, 1, 2, 3];
/** Repetition levels: the first item of a list, the following ones. */
const [FIRST, NEXT] = [0, 1];

/** Column of lists of texts. Each cell is one text, which `items` of the column parses. */
export class ListColumn implements OpenColumn {
  readonly #path: SchemaTree[];
  readonly #items: (text: string) => Items;
  #values = new ByteWriter();
  #definitions: number[] = [];
  #repetitions: number[] = [];

  constructor({ items = JSON.parse }: Column, path: SchemaTree[]) {
    this.#items = items;
    this.#path = path;
  }

  add(cells: Cells, fallback: Cells | undefined): void {
    const others = fallback && unpackCells(fallback);
    for (const [row, cell] of unpackCells(cells).entries()) {
      if (cell !== null) this.#addList(this.#items(String(cell)));
      else if (others === undefined) this.#addLevels(NO_LIST, FIRST);
      else this.#addList(listOf(others[row] ?? null));
    }
  }

  close(file: PartWriter, codec: Codec): ColumnChunk {
    const page = new ByteWriter();
    page.appendBytes(encodeLevels(this.#repetitions, 1));
    page.appendBytes(encodeLevels(this.#definitions, 2));
    page.appendBytes(this.#values.getBytes());
    const count = this.#definitions.length;
    // Lists have no statistics: readers disagree on their nulls.
    const data = {
      body: page.getBytes(),
      encoding: "PLAIN",
      count,
      statistics: undefined,
    } as const;
    const chunk = writeChunk(file, this.#path, codec, data);
    this.#values = new ByteWriter();
    this.#definitions = [];
    this.#repetitions = [];
    return chunk;
  }

  #addList(items: Items): void {
    if (items.length === 0) this.#addLevels(EMPTY, FIRST);
    for (const [n, item] of items.entries()) {
      this.#addLevels(item === null ? NO_ITEM : ITEM, n === 0 ? FIRST : NEXT);
      if (item !== null) this.#addItem(item);
    }
  }

  #addItem(item: string): void {
    const values = this.#values;
    values.ensure(LENGTH_BYTES + 3 * item.length);
    const size = writeAscii(item, new Uint8Array(values.buffer), values.index + LENGTH_BYTES);
    if (size === null) {
      const bytes = utf8.encode(item);
      values.appendUint32(bytes.length);
      values.appendBytes(bytes);
      return;
    }
    values.view.setUint32(values.index, size, true);
    values.index += LENGTH_BYTES + size;
  }

  #addLevels(definition: number, repetition: number): void {
    this.#definitions.push(definition);
    this.#repetitions.push(repetition);
  }
}

function listOf(cell: string | number | null): Items {
  return cell === null ? [] : [String(cell)];
}
