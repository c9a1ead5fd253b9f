import { NULL_SIZE, type PackedTexts } from "../../shared/packed-texts.ts";
import { FlatEncoder, type Page, PLAIN, RLE_DICTIONARY, type Statistics } from "./encoder.ts";
import { join, NumberBuffer } from "./number-buffer.ts";
import { ValueBuffer } from "./value-buffer.ts";

export class StringEncoder extends FlatEncoder {
  protected append(cell: string | number): boolean {
    this.values.appendText(String(cell));
    return true;
  }

  protected override appendPacked(texts: PackedTexts, from: number, to: number): void {
    this.values.appendPacked(texts, from, to);
    for (let row = from; row < to; row++) this.appendLevel(texts.sizes[row] !== NULL_SIZE);
  }
}

export class DoubleEncoder extends FlatEncoder {
  protected append(cell: string | number): boolean {
    const value = Number(cell);
    if (!Number.isFinite(value)) return false;
    this.values.appendDouble(value);
    return true;
  }
}

export class IntegerEncoder extends FlatEncoder {
  readonly #ranged: boolean;
  #min = Number.POSITIVE_INFINITY;
  #max = Number.NEGATIVE_INFINITY;

  constructor(ranged: boolean) {
    super();
    this.#ranged = ranged;
  }

  override statistics(): Statistics {
    if (!this.#ranged || this.#min > this.#max) return super.statistics();
    return { ...super.statistics(), min: int64(this.#min), max: int64(this.#max) };
  }

  override clear(): void {
    super.clear();
    this.#min = Number.POSITIVE_INFINITY;
    this.#max = Number.NEGATIVE_INFINITY;
  }

  protected append(cell: string | number): boolean {
    const value = Number(cell);
    if (!Number.isInteger(value) || Math.abs(value) >= 2 ** 63) return false;
    if (value < this.#min) this.#min = value;
    if (value > this.#max) this.#max = value;
    this.values.appendInteger(value);
    return true;
  }
}

/** One bit a value: some readers take run lengths of booleans for false. */
export class BooleanEncoder extends FlatEncoder {
  readonly #bits = new NumberBuffer();

  override pages(): Page[] {
    return [this.dataPage(PLAIN, join(this.levels(), this.#bits.packed(1)))];
  }

  override clear(): void {
    super.clear();
    this.#bits.clear();
  }

  protected append(cell: string | number): boolean {
    this.#bits.push(Number(cell) === 0 ? 0 : 1);
    return true;
  }
}

export class DictionaryEncoder extends FlatEncoder {
  readonly #places = new Map<string, number>();
  readonly #indices = new NumberBuffer();
  #last: string | null = null;
  #place = 0;

  /** Without values there is no dictionary: not every reader takes an empty one. */
  override pages(): Page[] {
    const entries = this.#places.size;
    if (entries === 0) return super.pages();
    const width = Math.max(1, 32 - Math.clz32(entries - 1));
    const body = join(this.levels(), Uint8Array.of(width), this.#indices.hybrid(width));
    const dictionary = this.values.after(new Uint8Array());
    return [
      { kind: "dictionary", encoding: PLAIN, count: entries, body: dictionary },
      this.dataPage(RLE_DICTIONARY, body),
    ];
  }

  override clear(): void {
    super.clear();
    this.#places.clear();
    this.#indices.clear();
    this.#last = null;
  }

  protected append(cell: string | number): boolean {
    if (cell !== this.#last) this.#place = this.#placeOf(String(cell));
    this.#indices.push(this.#place);
    return true;
  }

  #placeOf(text: string): number {
    this.#last = text;
    const known = this.#places.get(text);
    if (known !== undefined) return known;
    const place = this.#places.size;
    this.#places.set(text, place);
    this.values.appendText(text);
    return place;
  }
}

function int64(value: number): Uint8Array {
  const buffer = new ValueBuffer();
  buffer.appendInteger(value);
  return buffer.after(new Uint8Array());
}
