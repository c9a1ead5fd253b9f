import { constants, createZstdCompress, gzipSync } from "node:zlib";
import { join } from "./number-buffer.ts";
import { snappyCompress } from "./snappy.ts";

/** `code` is Parquet's CompressionCodec. The bytes that come back are the caller's own. */
export type Codec = { code: number; compress: (bytes: Uint8Array) => Uint8Array };

/** Each call makes one with memory of its own, for one file. */
export const CODECS = {
  none: () => ({ code: 0, compress: (bytes) => bytes.slice() }),
  snappy: () => ({ code: 1, compress: snappyCompress }),
  gzip: () => ({ code: 2, compress: (bytes) => new Uint8Array(gzipSync(bytes, { level: 1 })) }),
  zstandard: () => ({ code: 6, compress: zstdCompressor() }),
} as const satisfies Record<string, () => Codec>;

const ZSTD_LEVEL = { [constants.ZSTD_c_compressionLevel]: 1 };
/** One frame holds any page but that of a value larger than this, whose memory would be needed thrice. */
const FRAME_BYTES = 16 * 1024 * 1024;
/** What is kept for the pages that follow: few are longer. */
const KEPT_BYTES = 4 * 1024 * 1024;

function zstdCompressor(): (bytes: Uint8Array) => Uint8Array {
  const engine = synchronous(createZstdCompress({ params: ZSTD_LEVEL, chunkSize: 64 }));
  let kept = new Uint8Array(64 * 1024);

  /** Room for any outcome, so that one call does it all. */
  function roomFor(size: number): Uint8Array {
    const room = size + (size >>> 7) + 1024;
    if (room > KEPT_BYTES) return new Uint8Array(room);
    if (room > kept.length) kept = new Uint8Array(Math.min(KEPT_BYTES, 2 * room));
    return kept;
  }

  function frame(bytes: Uint8Array): Uint8Array {
    const out = roomFor(bytes.length);
    const end = constants.ZSTD_e_end;
    // A call that fails leaves this as it is, and then there is no room left.
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
    return join(...frames);
  };
}

type Engine = {
  /** What is left of the room for the output, and of the input. */
  _writeState: Uint32Array;
  _handle: { writeSync(flush: number, ...inAndOut: (Uint8Array | number)[]): void };
};

/**
 * Node and workerd have it, their types do not. Not zstdCompressSync: workerd's fails when the output is
 * longer than a buffer of its own, and each call of it makes a context anew.
 */
function synchronous(engine: unknown): Engine {
  return engine as Engine;
}
