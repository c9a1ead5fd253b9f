import { gzipSync } from "node:zlib";
import type { CompressionCodec } from "hyparquet";
import { snappyCompress } from "hyparquet-writer/src/snappy.js";
import { zstdCompressor } from "../../shared/work/zstd.ts";

/** `compress` returns memory that it does not share with the input. */
export type Codec = { name: CompressionCodec; compress: (bytes: Uint8Array) => Uint8Array };

/** Each call creates a codec for one file: zstd reuses its context and its output buffer. */
export const CODECS = {
  none: () => ({ name: "UNCOMPRESSED", compress: (bytes) => bytes.slice() }),
  snappy: () => ({ name: "SNAPPY", compress: snappyCompress }),
  gzip: () => ({
    name: "GZIP",
    compress: (bytes) => new Uint8Array(gzipSync(bytes, { level: 1 })),
  }),
  zstandard: () => ({ name: "ZSTD", compress: zstdCompressor() }),
} as const satisfies Record<string, () => Codec>;
