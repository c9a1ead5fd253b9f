import { utf8 } from "../../shared/crypto/encoding.ts";

/** Size of the gap between two texts. The Parquet encoder writes the length of a text into it. */
export const GAP_BYTES = 4;

/** Texts of a column in UTF-8, without a string each. */
export type PackedTexts = {
  /** Texts in order, with GAP_BYTES of zeros between two. Nulls take no space. */
  bytes: Uint8Array;
  /** Size of each row's text in bytes, NULL_SIZE for null. */
  sizes: Int32Array;
};

export const NULL_SIZE = -1;

/** Length up to which a text is written by a loop: a call into the runtime costs ten times as much. */
const SHORT_CHARS = 64;
const MAX_ASCII = 127;

export function isPacked(cells: object): cells is PackedTexts {
  return "bytes" in cells;
}

export function unpackTexts({ bytes, sizes }: PackedTexts): (string | null)[] {
  const all = utf8.decode(bytes);
  const isAscii = all.length === bytes.length;
  let end = -GAP_BYTES;
  return Array.from(sizes, (size) => {
    if (size === NULL_SIZE) return null;
    const at = end + GAP_BYTES;
    end = at + size;
    return isAscii ? all.slice(at, end) : utf8.decode(bytes.subarray(at, end));
  });
}

/** Frees the memory at once: garbage collection may run much later, and a page has megabytes. */
export function freeTexts({ bytes }: PackedTexts): void {
  if (bytes.buffer instanceof ArrayBuffer) bytes.buffer.transfer(0);
}

/** Returns the bytes of the rows from `from` to before `to`, without a gap before the first or after the last. */
export function packedBytes({ bytes, sizes }: PackedTexts, from: number, to: number): Uint8Array {
  const start = spaceOf(sizes, 0, from);
  const end = start + spaceOf(sizes, from, to) - GAP_BYTES;
  return bytes.subarray(start, Math.max(start, end));
}

function spaceOf(sizes: Int32Array, from: number, to: number): number {
  let space = 0;
  for (let row = from; row < to; row++) {
    const size = sizes[row] ?? NULL_SIZE;
    if (size !== NULL_SIZE) space += size + GAP_BYTES;
  }
  return space;
}

/**
 * Writes a short text.
 * @returns the size, `null` for texts that are long or not ASCII
 */
export function writeAscii(text: string, bytes: Uint8Array, start: number): number | null {
  if (text.length > SHORT_CHARS) return null;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code > MAX_ASCII) return null;
    bytes[start + at] = code;
  }
  return text.length;
}
