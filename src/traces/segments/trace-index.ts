import { hashTrace } from "./codec/trace-hashes.ts";

const FREE = 0;

/** Segments of each trace, by a hash of its id. Entries of removed segments remain: readers test the runs. */
export class TraceIndex {
  #hashes = new Uint32Array(1024);
  /** Handles plus one; 0 is free. */
  #handles = new Uint32Array(1024);
  #used = 0;

  add(hashes: Uint32Array, handle: number): void {
    for (const hash of hashes) this.#insert(hash, handle + 1);
  }

  /** Returns the handles of segments that may have runs of the trace. */
  find(trace_id: string): Set<number> {
    const hash = hashTrace(trace_id);
    const found = new Set<number>();
    const mask = this.#hashes.length - 1;
    for (let slot = hash & mask; this.#handles[slot] !== FREE; slot = (slot + 1) & mask) {
      if (this.#hashes[slot] === hash) found.add((this.#handles[slot] ?? 0) - 1);
    }
    return found;
  }

  /** Whether a test holds for the handles of all segments that may have runs of a trace. */
  every(hash: number, test: (handle: number) => boolean): boolean {
    const mask = this.#hashes.length - 1;
    for (let slot = hash & mask; this.#handles[slot] !== FREE; slot = (slot + 1) & mask) {
      if (this.#hashes[slot] === hash && !test((this.#handles[slot] ?? 0) - 1)) return false;
    }
    return true;
  }

  #insert(hash: number, stored: number): void {
    const mask = this.#hashes.length - 1;
    let slot = hash & mask;
    for (; this.#handles[slot] !== FREE; slot = (slot + 1) & mask) {
      if (this.#hashes[slot] === hash && this.#handles[slot] === stored) return;
    }
    this.#hashes[slot] = hash;
    this.#handles[slot] = stored;
    this.#used += 1;
    if (2 * this.#used > this.#hashes.length) this.#grow();
  }

  #grow(): void {
    const [hashes, handles] = [this.#hashes, this.#handles];
    this.#hashes = new Uint32Array(2 * hashes.length);
    this.#handles = new Uint32Array(2 * hashes.length);
    this.#used = 0;
    for (const [n, stored] of handles.entries()) {
      if (stored !== FREE) this.#insert(hashes[n] ?? 0, stored);
    }
  }
}
