import type { Column } from "../columns.ts";
import { type Cells, type Encoder, type Page, PLAIN, sized, unpacked } from "./encoder.ts";
import {
  BooleanEncoder,
  DictionaryEncoder,
  DoubleEncoder,
  IntegerEncoder,
  StringEncoder,
} from "./flat-encoders.ts";
import { join, NumberBuffer } from "./number-buffer.ts";
import { ValueBuffer } from "./value-buffer.ts";

export function encoderOf({ type, dictionary, statistics, items }: Column): Encoder {
  switch (type) {
    case "text":
      return dictionary ? new DictionaryEncoder() : new StringEncoder();
    case "texts":
      return new ListEncoder(items ?? JSON.parse);
    case "boolean":
      return new BooleanEncoder();
    case "timestamp":
    case "integer":
      return new IntegerEncoder(statistics === true);
    case "double":
      return new DoubleEncoder();
  }
}

type Items = readonly (string | null)[];

const NULL_LIST = 0;
const EMPTY_LIST = 1;
const NULL_ITEM = 2;
const ITEM = 3;

class ListEncoder implements Encoder {
  readonly #itemsOf: (text: string) => Items;
  readonly #values = new ValueBuffer();
  readonly #definitions = new NumberBuffer();
  /** 0 where a row begins, 1 for a further item of it. */
  readonly #repetitions = new NumberBuffer();

  constructor(itemsOf: (text: string) => Items) {
    this.#itemsOf = itemsOf;
  }

  add(cells: Cells, from: number, to: number, fallback: Cells | undefined): number {
    const before = this.#values.size;
    const texts = unpacked(cells);
    let others: ReturnType<typeof unpacked> | undefined;
    for (let row = from; row < to; row++) {
      const cell = texts[row];
      if (cell != null) this.#addItems(this.#itemsOf(String(cell)));
      else if (fallback) {
        others ??= unpacked(fallback);
        this.#addItems(others[row] == null ? [] : [String(others[row])]);
      } else this.#push(0, NULL_LIST);
    }
    return this.#values.size - before;
  }

  pages(): Page[] {
    const levels = join(sized(this.#repetitions.hybrid(1)), sized(this.#definitions.hybrid(2)));
    const { count } = this.#definitions;
    return [{ kind: "data", encoding: PLAIN, count, body: this.#values.after(levels) }];
  }

  statistics(): undefined {}

  clear(): void {
    this.#values.clear();
    this.#definitions.clear();
    this.#repetitions.clear();
  }

  #addItems(items: Items): void {
    if (items.length === 0) this.#push(0, EMPTY_LIST);
    let repetition = 0;
    for (const item of items) {
      this.#push(repetition, item === null ? NULL_ITEM : ITEM);
      if (item !== null) this.#values.appendText(item);
      repetition = 1;
    }
  }

  #push(repetition: number, definition: number): void {
    this.#repetitions.push(repetition);
    this.#definitions.push(definition);
  }
}
