import { createTarDecoder, type ParsedTarEntry } from "modern-tar";
import { TAR_LIMITS } from "./limits.ts";

const BLOCK = 512;
/** Type flags of records that the decoder holds in memory: pax, global pax, GNU long name, GNU long link. */
const METADATA = new Set([..."xgLK"].map((flag) => flag.charCodeAt(0)));
const TYPE_OFFSET = 156;
const SIZE_OFFSET = 124;
const SIZE_LENGTH = 12;
/** Positions of the other numbers of a header: mode, uid, gid and mtime. */
const NUMBERS: [offset: number, length: number][] = [
  [100, 8],
  [108, 8],
  [116, 8],
  [136, 12],
];

/** Decodes a tar within `TAR_LIMITS`. `refuse` makes the error from its text. */
export async function* tarEntries(
  bytes: ReadableStream<Uint8Array>,
  options: { strict: boolean },
  refuse: (text: string) => Error,
): AsyncGenerator<ParsedTarEntry> {
  let count = 0;
  const decoder = createTarDecoder(options);
  for await (const entry of bytes.pipeThrough(limitMetadata(refuse)).pipeThrough(decoder)) {
    count += 1;
    if (count > TAR_LIMITS.entries) {
      throw refuse(`The archive has more than ${TAR_LIMITS.entries} entries.`);
    }
    yield entry;
  }
}

/**
 * Fails before the decoder reads the metadata record that exceeds the limit of all records together. The decoder's time
 * for a malformed pax record grows with the square of its size. Each block that could be a header counts, also inside
 * a file, because metadata decides where files end.
 */
export function limitMetadata(
  refuse: (text: string) => Error,
): TransformStream<Uint8Array, Uint8Array> {
  const partial = new Uint8Array(BLOCK);
  let filled = 0;
  let steps = 0;
  const count = (block: Uint8Array) => {
    steps += metadataSize(block) ** 2;
    if (steps > TAR_LIMITS.metadata_steps) throw refuse(TOO_MUCH_METADATA);
  };
  return new TransformStream({
    transform(chunk, controller) {
      let at = 0;
      if (filled > 0) {
        at = Math.min(BLOCK - filled, chunk.byteLength);
        partial.set(chunk.subarray(0, at), filled);
        filled += at;
        if (filled === BLOCK) count(partial);
        filled %= BLOCK;
      }
      for (; at + BLOCK <= chunk.byteLength; at += BLOCK) count(chunk.subarray(at, at + BLOCK));
      partial.set(chunk.subarray(at), filled);
      filled += chunk.byteLength - at;
      controller.enqueue(chunk);
    },
  });
}

const TOO_MUCH_METADATA =
  "The archive's pax headers and long names are too large: one may have 64 KB, 4000 may have 1 KB each. " +
  "Create the archive with shorter paths and without extended attributes.";

/** @returns the size of a metadata record, or 0 when the decoder would not read the block as its header */
function metadataSize(block: Uint8Array): number {
  if (!METADATA.has(block[TYPE_OFFSET] ?? 0)) return 0;
  const isHeader = NUMBERS.every(([offset, length]) => readNumber(block, offset, length) !== null);
  return (isHeader && readNumber(block, SIZE_OFFSET, SIZE_LENGTH)) || 0;
}

/**
 * Reads octal text up to a NUL, or base 256 when the first bit is set.
 * @returns `null` for other bytes, and for a number that is not a safe integer
 */
function readNumber(block: Uint8Array, offset: number, length: number): number | null {
  const bytes = block.subarray(offset, offset + length);
  const [first = 0, ...rest] = bytes;
  if (first >= 0x80) {
    const value = rest.reduce((sum, byte) => sum * 256 + byte, first - 0x80);
    return Number.isSafeInteger(value) ? value : null;
  }
  const text =
    String.fromCharCode(...bytes)
      .split("\0", 1)[0]
      ?.replaceAll(" ", "") ?? "";
  return /^[0-7]*$/.test(text) ? Number(`0o0${text}`) : null;
}
