import { Buffer } from "node:buffer";
import { constants, createZstdCompress, createZstdDecompress } from "node:zlib";

const LEVEL = { [constants.ZSTD_c_compressionLevel]: 1 };
/** Largest input of a frame, which needs twice its size in memory. Larger inputs become several frames. */
const FRAME_BYTES = 16 * 1024 * 1024;
/** Largest output buffer that is kept for the following inputs. Few need a larger one. */
const KEPT_BYTES = 4 * 1024 * 1024;

/** Returns a function that compresses. It reuses its context and its output buffer. Its results are copies. */
export function zstdCompressor(): (bytes: Uint8Array) => Uint8Array {
  const engine = synchronous(createZstdCompress({ params: LEVEL, chunkSize: 64 }));
  let kept = new Uint8Array(64 * 1024);

  /** Returns an output buffer for the worst case, so that one call compresses the whole input. */
  function roomFor(size: number): Uint8Array {
    const room = size + (size >>> 7) + 1024;
    if (room > KEPT_BYTES) return new Uint8Array(room);
    if (room > kept.length) kept = new Uint8Array(Math.min(KEPT_BYTES, 2 * room));
    return kept;
  }

  function frame(bytes: Uint8Array): Uint8Array {
    const out = roomFor(bytes.length);
    const { left, unread } = run(engine, bytes, out);
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

/** Returns a function that unpacks one frame of a known size, and reuses its context. */
export function zstdUnpacker(): (packed: Uint8Array, size: number) => Uint8Array {
  let engine = synchronous(createZstdDecompress({ chunkSize: 64 }));
  return (packed, size) => {
    // The decoder reports the end of a frame only while its output has room.
    const out = new Uint8Array(size + 1);
    const { left } = run(engine, packed, out);
    if (out.length - left === size) return out.subarray(0, size);
    engine = synchronous(createZstdDecompress({ chunkSize: 64 }));
    throw new Error(`A zstd frame has ${out.length - left} bytes instead of ${size}`);
  };
}

type Engine = {
  /** Number of free bytes in the output buffer, then of unread bytes of the input. */
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

function run(engine: Engine, bytes: Uint8Array, out: Uint8Array) {
  // A call that fails leaves the state unchanged. Both callers report an error for zeros.
  engine._writeState.fill(0);
  engine._handle.writeSync(constants.ZSTD_e_end, bytes, 0, bytes.length, out, 0, out.length);
  const [left = 0, unread = 0] = engine._writeState;
  return { left, unread };
}
