import { constants, createZstdCompress, gzipSync } from "node:zlib";
import { join } from "./number-buffer.ts";
import { snappyCompress } from "./snappy.ts";

/** `code` is Parquet's CompressionCodec. The bytes that come back are the caller's own. */
export type Codec = { code: number; compress: (bytes: Uint8Array) => Uint8Array };

const ZSTD_LEVEL = { [constants.ZSTD_c_compressionLevel]: 1 };

export const CODECS = {
  none: { code: 0, compress: (bytes) => bytes.slice() },
  snappy: { code: 1, compress: snappyCompress },
  gzip: { code: 2, compress: (bytes) => new Uint8Array(gzipSync(bytes, { level: 1 })) },
  zstandard: { code: 6, compress: zstdCompress },
} as const satisfies Record<string, Codec>;

/** One frame holds any page but that of a value larger than this, whose memory would be needed thrice. */
const FRAME_BYTES = 16 * 1024 * 1024;

function zstdCompress(bytes: Uint8Array): Uint8Array {
  const frames: Uint8Array[] = [];
  for (let at = 0; at < bytes.length; at += FRAME_BYTES) {
    frames.push(zstdFrame(bytes.subarray(at, at + FRAME_BYTES)));
  }
  return join(...frames);
}

/**
 * Not zstdCompressSync: workerd's fails when the output is longer than a buffer of its own. What
 * is behind it takes a buffer of our size, and is also faster when all of the output fits.
 */
function zstdFrame(bytes: Uint8Array): Uint8Array {
  const chunkSize = bytes.length + (bytes.length >>> 7) + 1024;
  const engine = createZstdCompress({ params: ZSTD_LEVEL, chunkSize });
  return new Uint8Array(synchronous(engine)._processChunk(bytes, constants.ZSTD_e_end));
}

/** Node and workerd have the method, their types do not. */
function synchronous(engine: unknown) {
  return engine as { _processChunk(bytes: Uint8Array, flush: number): Uint8Array };
}
