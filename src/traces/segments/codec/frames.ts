import { Buffer } from "node:buffer";
import { zstdCompressor, zstdUnpacker } from "../../../shared/work/zstd.ts";
import { PAYLOADS } from "../../changes.ts";
import type { TextPacker } from "../../rows/text-packer.ts";
import { ByteReader, ByteWriter } from "./bytes.ts";
import { LONG_TEXTS, type LongName, type RunVersion } from "./columns.ts";
import type { TextCells } from "./text-cells.ts";

/**
 * Limits of a frame, the unit of compression: a read of one run unpacks one frame. One long run may exceed the second.
 */
const FRAME_RUNS = 64;
const FRAME_CHARS = 256 * 1024;

/** Number of the frame's first run, and where its packed bytes are in the body. */
export type FrameEntry = { first: number; offset: number; packed_bytes: number; raw_bytes: number };

/** `payload_bytes` is the size of the payloads before compression. */
type EncodedFrames = { body: Uint8Array; frames: FrameEntry[]; payload_bytes: number };

export const pack = zstdCompressor();
export const unpack = zstdUnpacker();
const writer = new ByteWriter();

/** Long texts of some runs, numbered from `first`. */
export class Frame {
  readonly bytes: number;
  readonly #first: number;
  readonly #texts = new Map<LongName, TextCells>();

  /** @param bytes `null` for a frame that is not loaded: all of its texts are `null` */
  constructor(bytes: Uint8Array | null, first: number) {
    this.bytes = bytes?.length ?? 0;
    this.#first = first;
    if (bytes === null) return;
    const reader = new ByteReader(bytes);
    const runs = reader.u32();
    for (const name of LONG_TEXTS) this.#texts.set(name, reader.texts(runs));
  }

  text(name: LongName, n: number): string | null {
    return this.#texts.get(name)?.at(n - this.#first) ?? null;
  }

  copyText(to: TextPacker, name: LongName, n: number): number {
    return this.#texts.get(name)?.copyTo(to, n - this.#first) ?? to.addNull();
  }
}

export const NO_PAYLOADS = new Frame(null, 0);

export function unpackFrame(packed: Uint8Array, { raw_bytes, first }: FrameEntry): Frame {
  return new Frame(unpack(packed, raw_bytes), first);
}

export function encodeFrames(runs: RunVersion[]): EncodedFrames {
  const frames: FrameEntry[] = [];
  const parts: Uint8Array[] = [];
  let [offset, payload_bytes] = [0, 0];
  for (let first = 0; first < runs.length; ) {
    const some = runs.slice(first, first + countFrameRuns(runs, first));
    writer.reset();
    writer.u32(some.length);
    for (const name of LONG_TEXTS) {
      const bytes = writer.texts(some.map((run) => run[name]));
      if (isPayload(name)) payload_bytes += bytes;
    }
    const part = pack(writer.written);
    parts.push(part);
    frames.push({ first, offset, packed_bytes: part.length, raw_bytes: writer.length });
    offset += part.length;
    first += some.length;
  }
  return { body: new Uint8Array(Buffer.concat(parts)), frames, payload_bytes };
}

function isPayload(name: LongName): boolean {
  return (PAYLOADS as readonly string[]).includes(name);
}

/** Returns the number of runs in the frame that begins with the run `first`. */
function countFrameRuns(runs: RunVersion[], first: number): number {
  let chars = 0;
  for (let n = 0; n < FRAME_RUNS; n++) {
    const run = runs[first + n];
    if (run === undefined) return n;
    chars += textCharsOf(run);
    if (n > 0 && chars > FRAME_CHARS) return n;
  }
  return FRAME_RUNS;
}

function textCharsOf(run: RunVersion): number {
  return LONG_TEXTS.reduce((sum, name) => sum + (run[name]?.length ?? 0), 0);
}
