import type { FrameEntry } from "../segments/codec/frames.ts";
import type { FetchedFrames } from "./fetched-frames.ts";

/** Frames of a body in R2 that an attempt lacks. */
export type MissingFrames = { number: number; frames: FrameEntry[] };

/** Attempt at work that reads bodies. Collects the frames that it lacks. */
export class ReadAttempt {
  readonly #limit: number;
  readonly fetched: FetchedFrames;
  /** Frames by the numbers of their segments and their offsets. */
  readonly #missing = new Map<number, Map<number, FrameEntry>>();

  constructor(limit: number, fetched: FetchedFrames) {
    this.#limit = limit;
    this.fetched = fetched;
  }

  get isComplete(): boolean {
    return this.#missing.size === 0;
  }

  get missing(): MissingFrames[] {
    return [...this.#missing].map(([number, frames]) => ({ number, frames: [...frames.values()] }));
  }

  /** Records a missing frame. @throws Error when the attempt lacks frames of more segments than its limit */
  miss(number: number, entry: FrameEntry): void {
    const frames = this.#missing.get(number);
    if (frames) frames.set(entry.offset, entry);
    else if (this.#missing.size === this.#limit) this.assertComplete();
    else this.#missing.set(number, new Map([[entry.offset, entry]]));
  }

  assertComplete(): void {
    if (!this.isComplete) throw new Error(`The bodies of ${this.#missing.size} segments are in R2`);
  }
}
