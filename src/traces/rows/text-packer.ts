import { GAP_BYTES, NULL_SIZE, writeAscii } from "./packed-texts.ts";

const INITIAL_BYTES = 4096;
const INITIAL_CELLS = 256;
const NOTHING: Uint8Array = new Uint8Array();
const encoder = new TextEncoder();

/** Collects the texts of a column. Texts that follow one another in their source are copied at once. */
export class TextPacker {
  #bytes = new Uint8Array(INITIAL_BYTES);
  #length = 0;
  #sizes = new Int32Array(INITIAL_CELLS);
  #cells = 0;
  /** Range of a source that is not copied yet. */
  #source: Uint8Array = NOTHING;
  #from = 0;
  #to = 0;

  addNull(): number {
    this.#push(NULL_SIZE);
    return 0;
  }

  /** Adds a text of a source that has a gap between two texts and does not change. Returns its size. */
  copy(source: Uint8Array, at: number, size: number): number {
    if (source !== this.#source || at !== this.#to + GAP_BYTES) {
      this.#flush();
      this.#source = source;
      this.#from = at;
    }
    this.#to = at + size;
    this.#push(size);
    return size;
  }

  encode(text: string): number {
    // UTF-8 takes up to three bytes for a UTF-16 character.
    const at = this.#reserve(3 * text.length);
    const size =
      writeAscii(text, this.#bytes, at) ??
      encoder.encodeInto(text, this.#bytes.subarray(at)).written;
    this.#close(size);
    return size;
  }

  /** Adds a text that `write` writes to the buffer. It must be `size` bytes long. */
  write(size: number, write: (bytes: Uint8Array, at: number) => void): number {
    const at = this.#reserve(size);
    write(this.#bytes, at);
    this.#close(size);
    return size;
  }

  /** Removes the last cell. */
  removeLast(): void {
    this.#cells -= 1;
    const size = this.#sizes[this.#cells] ?? NULL_SIZE;
    if (size === NULL_SIZE) return;
    if (this.#source === NOTHING) this.#length -= size + GAP_BYTES;
    else this.#to -= size + GAP_BYTES;
    if (this.#to < this.#from) this.#source = NOTHING;
  }

  /** Returns the texts and their sizes, and removes them from the packer. */
  take(): { bytes: ArrayBuffer; sizes: Int32Array } {
    this.#flush();
    const bytes = this.#bytes.slice(0, Math.max(0, this.#length - GAP_BYTES)).buffer;
    const sizes = this.#sizes.slice(0, this.#cells);
    this.#length = 0;
    this.#cells = 0;
    return { bytes, sizes };
  }

  #flush(): void {
    if (this.#source === NOTHING) return;
    const size = this.#to - this.#from;
    const at = this.#reserved(size);
    this.#bytes.set(this.#source.subarray(this.#from, this.#to), at);
    this.#endText(size);
    this.#source = NOTHING;
  }

  #reserve(size: number): number {
    this.#flush();
    return this.#reserved(size);
  }

  #reserved(size: number): number {
    const needed = this.#length + size + GAP_BYTES;
    if (needed > this.#bytes.length) {
      const grown = new Uint8Array(Math.max(needed, 2 * this.#bytes.length));
      grown.set(this.#bytes.subarray(0, this.#length));
      this.#bytes = grown;
    }
    return this.#length;
  }

  #close(size: number): void {
    this.#endText(size);
    this.#push(size);
  }

  #endText(size: number): void {
    const end = this.#length + size;
    for (let at = end; at < end + GAP_BYTES; at++) this.#bytes[at] = 0;
    this.#length = end + GAP_BYTES;
  }

  #push(size: number): void {
    if (this.#cells === this.#sizes.length) {
      const grown = new Int32Array(2 * this.#cells);
      grown.set(this.#sizes);
      this.#sizes = grown;
    }
    this.#sizes[this.#cells++] = size;
  }
}
