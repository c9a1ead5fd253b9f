import { GAP_BYTES, NULL_SIZE, type PackedTexts, packedBytes } from "../../shared/packed-texts.ts";

/** In front of the values, for the levels that a page begins with. */
const HEADROOM = 2048;
const INITIAL_BYTES = 8192;
/** What a column may keep for the next row group. */
const KEPT_BYTES = 8 * 1024 * 1024;
/** Up to here a loop is faster than a call of TextEncoder. */
const SHORT_CHARS = 48;

const utf8 = new TextEncoder();

/** PLAIN values of one column, in memory that serves all row groups. */
export class ValueBuffer {
  #bytes = new Uint8Array(INITIAL_BYTES);
  #view = new DataView(this.#bytes.buffer);
  #end = HEADROOM;

  get size(): number {
    return this.#end - HEADROOM;
  }

  appendText(text: string): void {
    const size = text.length <= SHORT_CHARS ? this.#writeShort(text) : this.#writeLong(text, 0);
    this.#view.setUint32(this.#end, size, true);
    this.#end += 4 + size;
  }

  /** At once, and then their sizes, for which packed texts have the room. */
  appendPacked(texts: PackedTexts, from: number, to: number): void {
    const bytes = packedBytes(texts, from, to);
    this.#reserve(GAP_BYTES + bytes.length);
    this.#bytes.set(bytes, this.#end + GAP_BYTES);
    for (let row = from; row < to; row++) {
      const size = texts.sizes[row] ?? NULL_SIZE;
      if (size === NULL_SIZE) continue;
      this.#view.setUint32(this.#end, size, true);
      this.#end += GAP_BYTES + size;
    }
  }

  /** As two words: a bigint for each value would cost more than all else. */
  appendInteger(value: number): void {
    this.#reserve(8);
    this.#view.setUint32(this.#end, value, true);
    this.#view.setInt32(this.#end + 4, Math.floor(value / 0x1_0000_0000), true);
    this.#end += 8;
  }

  appendDouble(value: number): void {
    this.#reserve(8);
    this.#view.setFloat64(this.#end, value, true);
    this.#end += 8;
  }

  /** The values after `prefix`; valid until the next append. */
  after(prefix: Uint8Array): Uint8Array {
    if (prefix.length <= HEADROOM) {
      this.#bytes.set(prefix, HEADROOM - prefix.length);
      return this.#bytes.subarray(HEADROOM - prefix.length, this.#end);
    }
    const joined = new Uint8Array(prefix.length + this.size);
    joined.set(prefix);
    joined.set(this.#bytes.subarray(HEADROOM, this.#end), prefix.length);
    return joined;
  }

  /** A row group unlike the others must not leave its memory behind. */
  clear(): void {
    const kept = Math.min(KEPT_BYTES, Math.max(INITIAL_BYTES, 4 * this.#end));
    if (this.#bytes.length > kept) this.#become(new Uint8Array(INITIAL_BYTES));
    this.#end = HEADROOM;
  }

  /** The bytes it took, after room for their number. */
  #writeShort(text: string): number {
    this.#reserve(4 + 3 * SHORT_CHARS);
    const at = this.#end + 4;
    const bytes = this.#bytes;
    for (let index = 0; index < text.length; index++) {
      const code = text.charCodeAt(index);
      if (code > 0x7f) return utf8.encodeInto(text, bytes.subarray(at)).written;
      bytes[at + index] = code;
    }
    return text.length;
  }

  /** Most text is ASCII, so that room for three bytes a character would be a waste of memory. */
  #writeLong(text: string, before: number): number {
    this.#reserve(4 + before + text.length);
    const { read, written } = utf8.encodeInto(text, this.#bytes.subarray(this.#end + 4 + before));
    if (read === text.length) return before + written;
    const rest = text.slice(read);
    this.#reserve(4 + before + written + Math.min(3 * rest.length, rest.length + KEPT_BYTES));
    return this.#writeLong(rest, before + written);
  }

  /** Keeps what lies past the end too: of a long text a part may be there. */
  #reserve(bytes: number): void {
    const needed = this.#end + bytes;
    const held = this.#bytes.length;
    if (needed <= held) return;
    const grown = new Uint8Array(Math.max(needed, Math.min(2 * held, needed + KEPT_BYTES)));
    grown.set(this.#bytes);
    this.#become(grown);
  }

  #become(bytes: Uint8Array<ArrayBuffer>): void {
    this.#bytes = bytes;
    this.#view = new DataView(bytes.buffer);
  }
}
