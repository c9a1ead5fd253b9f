type Kept<T> = { value: T; until: number; isBeingRead: boolean };

/** No reading anew takes longer, or else the next request does it too. */
const READING_MS = 1000;

/**
 * What is read by every request and may be a moment old, in the isolate's memory. Of many requests that find
 * it too old the first reads it anew, and the others go on with what there is until that one has.
 */
export class Recent<T> {
  readonly #ms: number;
  readonly #max_entries: number;
  readonly #kept = new Map<string, Kept<T>>();
  #forgets = 0;

  constructor(ms: number, max_entries = 1000) {
    this.#ms = ms;
    this.#max_entries = max_entries;
  }

  async get(key: string, read: () => Promise<T>): Promise<T> {
    const kept = this.#kept.get(key);
    const now = Date.now();
    if (kept && now < kept.until + (kept.isBeingRead ? READING_MS : 0)) return kept.value;
    if (kept) kept.isBeingRead = true;
    const forgets = this.#forgets;
    try {
      const value = await read();
      // Read before a change that was made meanwhile, it may be what was before.
      if (forgets === this.#forgets) this.#keep(key, value);
      return value;
    } catch (error) {
      this.#kept.delete(key);
      throw error;
    }
  }

  /** Every write that changes such a thing calls this, in the isolate where it happens. */
  forget(isMeant: (key: string, value: T) => boolean = () => true): void {
    this.#forgets += 1;
    for (const [key, { value }] of this.#kept) if (isMeant(key, value)) this.#kept.delete(key);
  }

  #keep(key: string, value: T) {
    if (this.#kept.size >= this.#max_entries) this.#kept.clear();
    this.#kept.set(key, { value, until: Date.now() + this.#ms, isBeingRead: false });
  }
}
