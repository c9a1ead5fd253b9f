import { constants, createZstdCompress, gzipSync } from "node:zlib";
import type { CompressionCodec } from "hyparquet";
import { snappyCompress } from "hyparquet-writer/src/snappy.js";

/** `compress` returns memory that the input does not share. */
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

const ZSTD_LEVEL = { [constants.ZSTD_c_compressionLevel]: 1 };
/** A frame needs memory for its input twice more, so pages larger than this take several. */
const FRAME_BYTES = 16 * 1024 * 1024;
/** Output buffer that is reused for the following pages; few are larger. */
const KEPT_BYTES = 4 * 1024 * 1024;

function zstdCompressor(): (bytes: Uint8Array) => Uint8Array {
  const engine = synchronous(createZstdCompress({ params: ZSTD_LEVEL, chunkSize: 64 }));
  let kept = new Uint8Array(64 * 1024);

  /** Returns an output buffer for the worst case, so that one call compresses all of it. */
  function roomFor(size: number): Uint8Array {
    const room = size + (size >>> 7) + 1024;
    if (room > KEPT_BYTES) return new Uint8Array(room);
    if (room > kept.length) kept = new Uint8Array(Math.min(KEPT_BYTES, 2 * room));
    return kept;
  }

  function frame(bytes: Uint8Array): Uint8Array {
    const out = roomFor(bytes.length);
    const end = constants.ZSTD_e_end;
    // A call that fails leaves the state unchanged: zeros mean that nothing was written.
    engine._writeState.fill(0);
    engine._handle.writeSync(end, bytes, 0, bytes.length, out, 0, out.length);
    const [left = 0, unread = 0] = engine._writeState;
    if (unread > 0 || left === 0) throw new Error(`zstd left ${unread} of ${bytes.length} bytes`);
    return out.slice(0, out.length - left);
  }

  return (bytes) => {
    if (bytes.length <= FRAME_BYTES) return frame(bytes);
    const frames: Uint8Array[] = [];
    for (let at = 0; at < bytes.length; at += FRAME_BYTES) {
      frames.push(frame(bytes.subarray(at, at + FRAME_BYTES)));
    }
    return new Uint8Array(Buffer.concat(frames));
  };
}

type Engine = {
  /** Bytes left in the output buffer, bytes left of the input. */
  _writeState: Uint32Array;
  _handle: { writeSync(flush: number, ...inAndOut: (Uint8Array | number)[]): void };
};

/**
 * Exposes the synchronous handle, which Node and workerd have and their types lack. workerd's
 * zstdCompressSync fails when the output outgrows its buffer, and it creates a context for each call.
 */
function synchronous(engine: unknown): Engine {
  return engine as Engine;
}
