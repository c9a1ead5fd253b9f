import { DecodedValue } from "./codec/decoded.ts";
import type { SegmentInfo } from "./codec/encode.ts";
import type { Frame } from "./codec/frames.ts";
import type { SegmentHead } from "./codec/head.ts";

/** Packed frames of a body from `offset` to its end. `bytes`: their size, for the cache. */
export type BodyPart = { packed: Uint8Array; offset: number; bytes: number };

/** A stored segment, with what was decoded of it, and which of its versions are live. */
export class RunSegment {
  /** Index in `LoadedSegments`. A later segment may get it after this one is removed. */
  readonly handle: number;
  readonly table: string;
  readonly number: number;
  readonly info: SegmentInfo;
  /** Keys of the runs as `writeKey` writes them, `KEY_WORDS` words each. */
  readonly keys: Uint32Array;
  readonly head = new DecodedValue<SegmentHead>();
  /** Frames by their number in the segment. One that was never read is missing. */
  readonly frames: DecodedValue<Frame>[] = [];
  /** Packed rest of the body, while its frames are read in order. */
  readonly body = new DecodedValue<BodyPart>();
  /** Number of the frame that was last read from the table, -1 before. */
  lastFrame = -1;
  /** Number of live versions. */
  live: number;
  /** 1 for each dead version, `null` without any. */
  #dead: Uint8Array | null = null;

  constructor(handle: number, table: string, number: number, info: SegmentInfo, keys: ArrayBuffer) {
    this.handle = handle;
    this.table = table;
    this.number = number;
    this.info = info;
    this.keys = new Uint32Array(keys);
    this.live = info.runs;
  }

  isLive(n: number): boolean {
    return this.#dead === null || this.#dead[n] !== 1;
  }

  markDead(n: number): void {
    this.#dead ??= new Uint8Array(this.info.runs);
    if (this.#dead[n] === 1) return;
    this.#dead[n] = 1;
    this.live -= 1;
  }
}
