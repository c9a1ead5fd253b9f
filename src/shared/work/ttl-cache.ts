type Entry<T> = { value: T; expires_at: number; isBeingRead: boolean };

const READING_MS = 1000;

/**
 * Values in the memory of an isolate, each for a fixed time. The first caller that finds a stale value reads it
 * again. Until the read ends, but at most `readingMs` after the fixed time, other callers get the stale value.
 */
export class TtlCache<T> {
  readonly #ttlMs: (value: T) => number;
  readonly #maxEntries: number;
  readonly #readingMs: number;
  readonly #entries = new Map<string, Entry<T>>();
  #invalidations = 0;

  /**
   * @param ttl_ms a function for values with different times
   * @param readingMs a stale value is served this long while one caller reads it again. Afterwards others read it too
   */
  constructor(ttl_ms: number | ((value: T) => number), maxEntries = 1000, readingMs = READING_MS) {
    this.#ttlMs = typeof ttl_ms === "number" ? () => ttl_ms : ttl_ms;
    this.#maxEntries = maxEntries;
    this.#readingMs = readingMs;
  }

  /** Returns the cached value, or reads it. A failure is not cached: it removes the stale value. */
  async get(key: string, read: () => Promise<T>): Promise<T> {
    const entry = this.#entries.get(key);
    const now = Date.now();
    if (entry && now < entry.expires_at + (entry.isBeingRead ? this.#readingMs : 0))
      return entry.value;
    if (entry) entry.isBeingRead = true;
    const invalidations = this.#invalidations;
    try {
      const value = await read();
      // Does not cache a value when `forget` was called during the read: the value may be from before the change.
      if (invalidations === this.#invalidations) this.#set(key, value);
      return value;
    } catch (error) {
      this.#entries.delete(key);
      throw error;
    }
  }

  /** Every write that changes a cached value calls this, in the isolate where it happens. */
  forget(matches: (key: string, value: T) => boolean = () => true): void {
    this.#invalidations += 1;
    for (const [key, { value }] of this.#entries)
      if (matches(key, value)) this.#entries.delete(key);
  }

  #set(key: string, value: T) {
    this.#entries.delete(key);
    const [oldest] = this.#entries.keys();
    if (oldest !== undefined && this.#entries.size >= this.#maxEntries)
      this.#entries.delete(oldest);
    this.#entries.set(key, {
      value,
      expires_at: Date.now() + this.#ttlMs(value),
      isBeingRead: false,
    });
  }
}
