import { zstdCompressor, zstdUnpacker } from "../../../../shared/work/zstd.ts";

const compress = zstdCompressor();
const decompress = zstdUnpacker();

const NUMBER_BYTES = 4;

/**
 * Compresses pieces into one BLOB: the size of the content, then one zstd frame. The content is the pieces, each after
 * its size.
 *
 * In a table WITHOUT ROWID, a row of more than 1002 bytes takes further pages. The ids and names within a row repeat,
 * so most rows are shorter than that once they are compressed.
 */
export function compressPieces(pieces: Uint8Array[]): Uint8Array {
  const size = pieces.reduce((sum, { byteLength }) => sum + NUMBER_BYTES + byteLength, 0);
  const content = new Uint8Array(size);
  const numbers = new DataView(content.buffer);
  let at = 0;
  for (const piece of pieces) {
    numbers.setUint32(at, piece.byteLength);
    content.set(piece, at + NUMBER_BYTES);
    at += NUMBER_BYTES + piece.byteLength;
  }
  const frame = compress(content);
  const blob = new Uint8Array(NUMBER_BYTES + frame.byteLength);
  new DataView(blob.buffer).setUint32(0, size);
  blob.set(frame, NUMBER_BYTES);
  return blob;
}

export function decompressPieces(blob: ArrayBuffer): Uint8Array[] {
  const frame = new Uint8Array(blob, NUMBER_BYTES);
  const content = decompress(frame, new DataView(blob).getUint32(0));
  const numbers = new DataView(content.buffer, content.byteOffset, content.byteLength);
  const pieces: Uint8Array[] = [];
  for (let at = 0; at < content.byteLength; ) {
    const end = at + NUMBER_BYTES + numbers.getUint32(at);
    pieces.push(content.subarray(at + NUMBER_BYTES, end));
    at = end;
  }
  return pieces;
}
