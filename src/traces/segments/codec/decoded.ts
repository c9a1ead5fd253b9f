/** Place of a cached value. The value is `null` before it is read, and after the cache needed its memory. */
export class DecodedValue<T extends { bytes: number }> {
  value: T | null = null;
  isUsed = false;
}

/**
 * Bounds the memory of decoded values by the clock algorithm: a read only sets `isUsed`, and a value is evicted when it was
 * not read since the cache passed it before.
 */
export class DecodedCache {
  readonly #maxBytes: number;
  readonly #values = new Set<DecodedValue<{ bytes: number }>>();
  #bytes = 0;

  constructor(max_bytes: number) {
    this.#maxBytes = max_bytes;
  }

  add<T extends { bytes: number }>(decoded: DecodedValue<T>, value: T): T {
    decoded.value = value;
    decoded.isUsed = true;
    this.#bytes += value.bytes;
    this.#values.add(decoded);
    this.#evict();
    return value;
  }

  /** Gives up a value that is not read again. */
  remove(decoded: DecodedValue<{ bytes: number }>): void {
    if (!this.#values.delete(decoded)) return;
    this.#bytes -= decoded.value?.bytes ?? 0;
    decoded.value = null;
  }

  #evict(): void {
    for (const decoded of this.#values) {
      if (this.#bytes <= this.#maxBytes) return;
      this.#values.delete(decoded);
      if (decoded.isUsed) {
        decoded.isUsed = false;
        this.#values.add(decoded);
      } else {
        this.#bytes -= decoded.value?.bytes ?? 0;
        decoded.value = null;
      }
    }
  }
}
