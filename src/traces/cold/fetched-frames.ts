import type { FrameEntry } from "../segments/codec/frames.ts";

/** Packed frames in the memory of an isolate. Bodies of the further ones are restored. */
export const MAX_FETCHED_BYTES = 4 * 1024 * 1024;

/** Packed frames that were fetched from R2 for one piece of work. */
export class FetchedFrames {
  /** Bytes that all work of the isolate holds. */
  static #reserved = 0;
  readonly #packed = new Map<string, Uint8Array>();
  #bytes = 0;

  /** Returns whether the isolate has room for more bytes, and holds them until the release. */
  reserve(bytes: number): boolean {
    if (FetchedFrames.#reserved + bytes > MAX_FETCHED_BYTES) return false;
    FetchedFrames.#reserved += bytes;
    this.#bytes += bytes;
    return true;
  }

  release(): void {
    FetchedFrames.#reserved -= this.#bytes;
    this.#bytes = 0;
    this.#packed.clear();
  }

  /** @param key object in R2: a changed segment has another */
  add(key: string, { offset }: FrameEntry, packed: Uint8Array): void {
    this.#packed.set(`${key}:${offset}`, packed);
  }

  get(key: string, { offset }: FrameEntry): Uint8Array | null {
    return this.#packed.get(`${key}:${offset}`) ?? null;
  }
}
