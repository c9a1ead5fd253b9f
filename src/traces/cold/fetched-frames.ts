import type { FrameEntry } from "../segments/codec/frames.ts";

/** Maximum bytes of packed frames in the memory of an isolate. Beyond this, a read restores whole bodies. */
export const MAX_FETCHED_BYTES = 4 * 1024 * 1024;

/** Packed frames that were fetched from R2 for one piece of work. */
export class FetchedFrames {
  /** Bytes that all work of the isolate has reserved. */
  static #reserved = 0;
  readonly #packed = new Map<string, Uint8Array>();
  #bytes = 0;

  /** Reserves bytes until the release. @returns false when the isolate has no room for them */
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

  /** @param key key of the body in R2: a changed segment gets another one */
  add(key: string, { offset }: FrameEntry, packed: Uint8Array): void {
    this.#packed.set(`${key}:${offset}`, packed);
  }

  get(key: string, { offset }: FrameEntry): Uint8Array | null {
    return this.#packed.get(`${key}:${offset}`) ?? null;
  }
}
