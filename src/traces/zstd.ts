import { pipeline, Readable } from "node:stream";
import { constants, createZstdDecompress } from "node:zlib";

const MAGIC = 0xfd2fb528;
const SKIPPABLE = 0x184d2a50;
const CHECKSUM_BYTES = 4;
/** Type of a block that repeats one byte. */
const REPEATED = 1;
const MAX_READ_BYTES = 4;
/** Bounds a frame's window, which is memory: 8 MB, the least that the format recommends to support. */
const WINDOW = { [constants.ZSTD_d_windowLogMax]: 23 };

/**
 * Decompresses all frames of a stream. `zstdDecompressSync` stops after the first frame, and in workerd
 * it rejects frames that fill its buffer exactly.
 */
export async function* unpackZstd(packed: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  const engine = createZstdDecompress({ params: WINDOW });
  // An error of either side destroys the engine, so that the next line throws it.
  pipeline(Readable.from(cutAtFrames(packed)), engine, () => {});
  yield* engine;
}

/** Cuts so that no chunk has bytes of two frames, because an engine may stop where a frame ends. */
async function* cutAtFrames(packed: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  const cut = frameCutter();
  for await (const chunk of packed) yield* cut(chunk);
}

function frameCutter(): (chunk: Uint8Array) => Generator<Uint8Array> {
  const steps = walk();
  const header = new DataView(new ArrayBuffer(MAX_READ_BYTES));
  const wanted = new Uint8Array(header.buffer);
  // The next step of the walk, and how many of its bytes have not come.
  let step = steps.next(header).value;
  let left = step.bytes;

  /** Returns the end of the frame or of the chunk, whichever comes first. */
  function endOfPiece(chunk: Uint8Array, from: number): number {
    let at = from;
    do {
      const bytes = chunk.subarray(at, at + left);
      if (step.kind === "read") wanted.set(bytes, step.bytes - left);
      at += bytes.length;
      left -= bytes.length;
      if (left > 0) return at;
      step = steps.next(header).value;
      left = step.bytes;
    } while (step.kind !== "end");
    return at;
  }
  return function* cut(chunk) {
    for (let from = 0; from < chunk.length; ) {
      const end = endOfPiece(chunk, from);
      yield chunk.subarray(from, end);
      from = end;
    }
  };
}

type Step = { kind: "read" | "skip" | "end"; bytes: number };

const END: Step = { kind: "end", bytes: 0 };
const read = (bytes: number): Step => ({ kind: "read", bytes });
const skip = (bytes: number): Step => ({ kind: "skip", bytes });

/** Yields `read` for bytes that give the length of a frame, `skip` for all others, and `end` after each frame. */
function* walk(): Generator<Step, never, DataView> {
  for (;;) {
    const magic = (yield read(4)).getUint32(0, true);
    if (magic === MAGIC) yield* walkFrame();
    else if ((magic & 0xfffffff0) >>> 0 === SKIPPABLE) {
      yield skip((yield read(4)).getUint32(0, true));
    }
    yield END;
  }
}

function* walkFrame(): Generator<Step, void, DataView> {
  const descriptor = (yield read(1)).getUint8(0);
  yield skip(moreHeaderBytes(descriptor));
  for (let isLast = false; !isLast; ) {
    const view = yield read(3);
    const header = view.getUint16(0, true) | (view.getUint8(2) << 16);
    const isRepeated = ((header >> 1) & 3) === REPEATED;
    yield skip(isRepeated ? 1 : header >> 3);
    isLast = (header & 1) === 1;
  }
  if (descriptor & 4) yield skip(CHECKSUM_BYTES);
}

/** Returns the number of header bytes behind the descriptor: its flags give the fields and their sizes. */
function moreHeaderBytes(descriptor: number): number {
  const isSingle = (descriptor & 0x20) !== 0;
  const dictionary = [0, 1, 2, 4][descriptor & 3] ?? 0;
  const size = [isSingle ? 1 : 0, 2, 4, 8][descriptor >> 6] ?? 0;
  return (isSingle ? 0 : 1) + dictionary + size;
}
