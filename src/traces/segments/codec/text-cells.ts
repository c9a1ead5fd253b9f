import { GAP_BYTES, NULL_SIZE } from "../../rows/packed-texts.ts";
import type { TextPacker } from "../../rows/text-packer.ts";

const decoder = new TextDecoder("utf-8", { ignoreBOM: true, fatal: false });
/** A call into the runtime costs more than a loop over a short text. */
const SHORT_BYTES = 16;
const ASCII = Array.from({ length: 128 }, (_, code) => String.fromCharCode(code));

/** Texts of a column, decoded when they are read. */
export class TextCells {
  readonly sizes: Int32Array;
  readonly #bytes: Uint8Array;
  #starts: Uint32Array | null = null;

  constructor(sizes: Int32Array, bytes: Uint8Array) {
    this.sizes = sizes;
    this.#bytes = bytes;
  }

  at(n: number): string | null {
    const size = this.sizes[n] ?? NULL_SIZE;
    if (size === NULL_SIZE) return null;
    const start = this.#startOf(n);
    const short = size <= SHORT_BYTES ? readAscii(this.#bytes, start, start + size) : null;
    return short ?? decoder.decode(this.#bytes.subarray(start, start + size));
  }

  bytesAt(n: number): Uint8Array | null {
    const size = this.sizes[n] ?? NULL_SIZE;
    if (size === NULL_SIZE) return null;
    const start = this.#startOf(n);
    return this.#bytes.subarray(start, start + size);
  }

  byteAt(n: number, at: number): number {
    return this.#bytes[this.#startOf(n) + at] ?? 0;
  }

  isSame(n: number, m: number): boolean {
    return this.sizes[n] === this.sizes[m] && this.startsWith(n, m);
  }

  /** Whether text `n` begins with text `m`, which must not be the longer one. */
  startsWith(n: number, m: number): boolean {
    const size = this.sizes[m] ?? NULL_SIZE;
    const [a, b] = [this.#startOf(n), this.#startOf(m)];
    for (let at = 0; at < size; at++) {
      if (this.#bytes[a + at] !== this.#bytes[b + at]) return false;
    }
    return true;
  }

  has(n: number): boolean {
    return (this.sizes[n] ?? NULL_SIZE) !== NULL_SIZE;
  }

  /** Copies a text. Returns its size in bytes, 0 for null. */
  copyTo(to: TextPacker, n: number): number {
    const size = this.sizes[n] ?? NULL_SIZE;
    return size === NULL_SIZE ? to.addNull() : to.copy(this.#bytes, this.#startOf(n), size);
  }

  #startOf(n: number): number {
    this.#starts ??= startsOf(this.sizes);
    return this.#starts[n] ?? 0;
  }
}

/** @returns `null` for texts that are not ASCII */
function readAscii(bytes: Uint8Array, from: number, to: number): string | null {
  let text = "";
  for (let at = from; at < to; at++) {
    const char = ASCII[bytes[at] ?? 0];
    if (char === undefined) return null;
    text += char;
  }
  return text;
}

function startsOf(sizes: Int32Array): Uint32Array {
  const starts = new Uint32Array(sizes.length);
  let at = 0;
  for (const [n, size] of sizes.entries()) {
    starts[n] = at;
    if (size !== NULL_SIZE) at += size + GAP_BYTES;
  }
  return starts;
}
