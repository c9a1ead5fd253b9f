/** Estimated bytes of the columns of a value or a write other than its data. */
export const ENTRY_BYTES = 64;

/** Limits the bytes that one operation reads. */
export class ByteBudget {
  readonly #max: number;
  used = 0;

  constructor(max: number) {
    this.#max = max;
  }

  /** Counts bytes. @returns `false` once the limit is exceeded */
  take(bytes: number): boolean {
    this.used += bytes;
    return this.used <= this.#max;
  }
}
