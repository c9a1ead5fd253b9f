import { Decoded } from "./codec/decoded.ts";
import type { SegmentInfo } from "./codec/encode.ts";
import type { Frame } from "./codec/frames.ts";
import type { Head } from "./codec/head.ts";

/** Packed frames of a body from `offset` to its end. */
export type BodyPart = { packed: Uint8Array; offset: number; bytes: number };

/** Stored segment as memory knows it. */
export class RunSegment {
  readonly handle: number;
  readonly table: string;
  readonly number: number;
  readonly info: SegmentInfo;
  readonly keys: Uint32Array;
  readonly head = new Decoded<Head>();
  /** Frames that were read, in the order of the segment. */
  readonly frames: Decoded<Frame>[] = [];
  /** Packed rest of the body, while its frames are read in order. */
  readonly body = new Decoded<BodyPart>();
  /** Number of the frame that was read last. */
  lastFrame = -1;
  live: number;
  #dead: Uint8Array | null = null;

  constructor(handle: number, table: string, number: number, info: SegmentInfo, ids: ArrayBuffer) {
    this.handle = handle;
    this.table = table;
    this.number = number;
    this.info = info;
    this.keys = new Uint32Array(ids);
    this.live = info.runs;
  }

  isLive(n: number): boolean {
    return this.#dead === null || this.#dead[n] !== 1;
  }

  bury(n: number): void {
    this.#dead ??= new Uint8Array(this.info.runs);
    if (this.#dead[n] === 1) return;
    this.#dead[n] = 1;
    this.live -= 1;
  }
}
