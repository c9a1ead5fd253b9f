import { type PackedTexts, unpackTexts } from "../../shared/packed-texts.ts";
import { join, NumberBuffer } from "./number-buffer.ts";
import { ValueBuffer } from "./value-buffer.ts";

export const PLAIN = 0;
export const RLE_DICTIONARY = 8;

type Cell = string | number | null;
/** Of one column, all of its rows. */
export type Cells = readonly Cell[] | PackedTexts;

export function isPacked(cells: Cells): cells is PackedTexts {
  return "bytes" in cells;
}

export function unpacked(cells: Cells): readonly Cell[] {
  return isPacked(cells) ? unpackTexts(cells) : cells;
}

/** `count` is of levels, nulls included. The body is valid until the encoder takes more. */
export type Page = {
  kind: "data" | "dictionary";
  encoding: number;
  count: number;
  body: Uint8Array;
};

export type Statistics = { null_count: number; min?: Uint8Array; max?: Uint8Array };

/** One column of the open row group. */
export type Encoder = {
  /** Takes rows from `from` to before `to`, and says how many bytes their values are. */
  add(cells: Cells, from: number, to: number, fallback: Cells | undefined): number;
  pages(): Page[];
  /** Of a list there are none: readers do not agree on what its nulls are. */
  statistics(): Statistics | undefined;
  clear(): void;
};

/** A column that is no list: one level for each row, 1 for a value and 0 for null. */
export abstract class FlatEncoder implements Encoder {
  protected readonly values = new ValueBuffer();
  readonly #levels = new NumberBuffer();
  #nulls = 0;

  /** Takes a value; false when the column's type has no such one. */
  protected abstract append(cell: string | number): boolean;

  add(cells: Cells, from: number, to: number): number {
    const before = this.values.size;
    if (isPacked(cells)) this.appendPacked(cells, from, to);
    else {
      for (let row = from; row < to; row++) {
        const cell = cells[row];
        this.appendLevel(cell != null && this.append(cell));
      }
    }
    return this.values.size - before;
  }

  pages(): Page[] {
    return [this.dataPage(PLAIN, this.values.after(this.levels()))];
  }

  statistics(): Statistics {
    return { null_count: this.#nulls };
  }

  clear(): void {
    this.values.clear();
    this.#levels.clear();
    this.#nulls = 0;
  }

  protected appendPacked(texts: PackedTexts, from: number, to: number): void {
    this.add(unpackTexts(texts), from, to);
  }

  protected appendLevel(isKnown: boolean): void {
    this.#levels.push(isKnown ? 1 : 0);
    if (!isKnown) this.#nulls++;
  }

  protected levels(): Uint8Array {
    return sized(this.#levels.hybrid(1));
  }

  protected dataPage(encoding: number, body: Uint8Array): Page {
    return { kind: "data", encoding, count: this.#levels.count, body };
  }
}

/** Levels of a V1 page begin with their length. */
export function sized(levels: Uint8Array): Uint8Array {
  const bytes = join(new Uint8Array(4), levels);
  new DataView(bytes.buffer).setUint32(0, levels.length, true);
  return bytes;
}
