import { MAX_SEGMENT_RUNS } from "./codec/encode.ts";
import { hashKey } from "./codec/trace-hashes.ts";
import { KEY_WORDS } from "./codec/uuids.ts";

/** Place of a run's version: the handle of its segment and its number there, as one integer. */
export type RunPlace = number;

export function placeOf(handle: number, n: number): RunPlace {
  return handle * MAX_SEGMENT_RUNS + n;
}

export function handleOf(place: RunPlace): number {
  return Math.floor(place / MAX_SEGMENT_RUNS);
}

export function runOf(place: RunPlace): number {
  return place % MAX_SEGMENT_RUNS;
}

/**
 * Newest place of each key, by open addressing. A slot takes four bytes, because the keys stay where `keysOf` reads
 * them.
 */
export class RunIds {
  readonly #keysOf: (handle: number) => Uint32Array;
  /** Places plus one; 0 is free. */
  #slots = new Uint32Array(1024);
  #used = 0;

  constructor(keysOf: (handle: number) => Uint32Array) {
    this.#keysOf = keysOf;
  }

  get size(): number {
    return this.#used;
  }

  /** @returns `null` when no segment has the key */
  find(keys: Uint32Array, n: number): RunPlace | null {
    const stored = this.#slots[this.#slotOf(keys, n)] ?? 0;
    return stored === 0 ? null : stored - 1;
  }

  /** Sets the newest place of a key. Returns the place before, `null` for a new key. */
  set(keys: Uint32Array, n: number, place: RunPlace): RunPlace | null {
    const slot = this.#slotOf(keys, n);
    const before = this.#slots[slot] ?? 0;
    this.#slots[slot] = place + 1;
    if (before > 0) return before - 1;
    this.#used += 1;
    if (2 * this.#used > this.#slots.length) this.#grow();
    return null;
  }

  #slotOf(keys: Uint32Array, n: number): number {
    const mask = this.#slots.length - 1;
    let slot = hashKey(keys, n) & mask;
    for (;;) {
      const stored = this.#slots[slot] ?? 0;
      if (stored === 0) return slot;
      const place = stored - 1;
      if (isEqual(keys, n, this.#keysOf(handleOf(place)), runOf(place))) return slot;
      slot = (slot + 1) & mask;
    }
  }

  #grow(): void {
    const before = this.#slots;
    this.#slots = new Uint32Array(2 * before.length);
    for (const stored of before) {
      if (stored === 0) continue;
      const place = stored - 1;
      this.#slots[this.#slotOf(this.#keysOf(handleOf(place)), runOf(place))] = stored;
    }
  }
}

function isEqual(a: Uint32Array, n: number, b: Uint32Array, m: number): boolean {
  for (let word = 0; word < KEY_WORDS; word++) {
    if (a[KEY_WORDS * n + word] !== b[KEY_WORDS * m + word]) return false;
  }
  return true;
}
