/** Gap between texts, in which encoders write a length. */
export const GAP_BYTES = 4;

/** Texts of a column in UTF-8 as SQLite stores them, without a string each. */
export type PackedTexts = {
  /** Texts in order, with GAP_BYTES of zeros between two. */
  bytes: Uint8Array;
  /** Size of each row's text in bytes, NULL_SIZE for null. */
  sizes: Int32Array;
};

export const NULL_SIZE = -1;

const utf8 = new TextDecoder("utf-8", { ignoreBOM: true, fatal: false });

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

/** Gives the memory back at once: the next collection of garbage may be far, and a page is megabytes. */
export function freeTexts({ bytes }: PackedTexts): void {
  if (bytes.buffer instanceof ArrayBuffer) bytes.buffer.transfer(0);
}

/** The bytes of the rows from `from` to before `to`, without a gap before the first or after the last. */
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
