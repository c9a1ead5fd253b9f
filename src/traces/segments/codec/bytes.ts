import { GAP_BYTES, NULL_SIZE } from "../../rows/packed-texts.ts";
import { TextCells } from "./text-cells.ts";

const utf8 = new TextEncoder();

/** Growing buffer, reused from one segment to the next. */
export class ByteWriter {
  #bytes = new Uint8Array(64 * 1024);
  #view = new DataView(this.#bytes.buffer);
  #length = 0;

  reset(): void {
    this.#length = 0;
  }

  get length(): number {
    return this.#length;
  }

  /** View of the written bytes, valid until the writer writes more or is reset. */
  get written(): Uint8Array {
    return this.#bytes.subarray(0, this.#length);
  }

  align(size: number): void {
    const to = Math.ceil(this.#length / size) * size;
    this.#reserve(to - this.#length);
    this.#bytes.fill(0, this.#length, to);
    this.#length = to;
  }

  u32(value: number): void {
    this.#reserve(4);
    this.#view.setUint32(this.#length, value, true);
    this.#length += 4;
  }

  bytes(bytes: Uint8Array): void {
    this.#reserve(bytes.length);
    this.#bytes.set(bytes, this.#length);
    this.#length += bytes.length;
  }

  numbers(values: ArrayBufferView): void {
    this.bytes(new Uint8Array(values.buffer, values.byteOffset, values.byteLength));
  }

  /**
   * Writes three things: the number of bytes that the texts and their gaps take together, the size of each text
   * (`NULL_SIZE` for null), and each text with a gap behind it.
   * @returns the bytes of the texts without their gaps
   */
  texts(texts: (string | null)[]): number {
    this.align(4);
    const head = this.#length;
    this.#reserve(4 + 4 * texts.length);
    this.#length += 4 + 4 * texts.length;
    const start = this.#length;
    let at = head + 4;
    let bytes = 0;
    for (const text of texts) {
      const size = text === null ? NULL_SIZE : this.#text(text);
      bytes += Math.max(0, size);
      this.#view.setInt32(at, size, true);
      at += 4;
    }
    this.#view.setUint32(head, this.#length - start, true);
    return bytes;
  }

  #text(text: string): number {
    // UTF-8 takes up to three bytes for a UTF-16 character.
    this.#reserve(3 * text.length + GAP_BYTES);
    const { written } = utf8.encodeInto(text, this.#bytes.subarray(this.#length));
    this.#length += written;
    this.#bytes.fill(0, this.#length, this.#length + GAP_BYTES);
    this.#length += GAP_BYTES;
    return written;
  }

  #reserve(more: number): void {
    const needed = this.#length + more;
    if (needed <= this.#bytes.length) return;
    const grown = new Uint8Array(Math.max(needed, 2 * this.#bytes.length));
    grown.set(this.#bytes.subarray(0, this.#length));
    this.#bytes = grown;
    this.#view = new DataView(grown.buffer);
  }
}

/** Reads bytes that begin at the start of their buffer: typed arrays need aligned offsets in it. */
export class ByteReader {
  readonly bytes: Uint8Array;
  readonly #view: DataView;
  #at = 0;

  constructor(bytes: Uint8Array) {
    this.bytes = bytes;
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  }

  align(size: number): void {
    this.#at = Math.ceil(this.#at / size) * size;
  }

  u32(): number {
    this.#at += 4;
    return this.#view.getUint32(this.#at - 4, true);
  }

  take(length: number): Uint8Array {
    this.#at += length;
    return this.bytes.subarray(this.#at - length, this.#at);
  }

  f64s(count: number): Float64Array {
    const { buffer, byteOffset } = this.take(8 * count);
    return new Float64Array(buffer, byteOffset, count);
  }

  u32s(count: number): Uint32Array {
    const { buffer, byteOffset } = this.take(4 * count);
    return new Uint32Array(buffer, byteOffset, count);
  }

  u16s(count: number): Uint16Array {
    const { buffer, byteOffset } = this.take(2 * count);
    return new Uint16Array(buffer, byteOffset, count);
  }

  texts(count: number): TextCells {
    this.align(4);
    const length = this.u32();
    const { buffer, byteOffset } = this.take(4 * count);
    return new TextCells(new Int32Array(buffer, byteOffset, count), this.take(length));
  }
}
