type OutboxSource = {
  /** Delay before the next attempt after a failure. */
  retry_ms: number;
  hasPending(): boolean;
  /** Delivers the next entries and removes them. Called until nothing is pending. */
  deliver(): Promise<void>;
  /** Earliest time of a scheduled delivery, in epoch milliseconds. */
  dueAt(): number;
  onFailed(error: unknown): void;
  onFlushed(): void;
};

/** Delivers what a Durable Object has stored, one delivery at a time. The object's alarm repeats a failed one. */
export class Outbox {
  readonly #source: OutboxSource;
  #flushing: Promise<void> | null = null;
  #retryAfter = 0;
  #timer: { at: number; id: ReturnType<typeof setTimeout> } | null = null;

  constructor(source: OutboxSource) {
    this.#source = source;
  }

  /** Time of the alarm that repeats a delivery, `null` when nothing is pending. */
  get wake(): number | null {
    return this.#source.hasPending() ? Date.now() + this.#source.retry_ms : null;
  }

  /** Publishes soon, in a later turn: entries of one turn are delivered together. */
  schedule() {
    if (this.#flushing || !this.#isDue()) return;
    const at = Math.max(this.#source.dueAt(), Date.now());
    if (this.#timer && this.#timer.at <= at) return;
    clearTimeout(this.#timer?.id);
    const id = setTimeout(() => {
      this.#timer = null;
      void this.publish();
    }, at - Date.now());
    this.#timer = { at, id };
  }

  /** Resolves when nothing is pending, or the last delivery failed and its retry is not due. */
  async publish(): Promise<void> {
    while (this.#isDue()) await this.flush().catch(() => undefined);
  }

  /** Delivers all entries at once. Rejects when a delivery fails. */
  flush(): Promise<void> {
    this.#flushing ??= this.#flushAll().finally(() => {
      this.#flushing = null;
      this.#source.onFlushed();
    });
    return this.#flushing;
  }

  async #flushAll(): Promise<void> {
    try {
      while (this.#source.hasPending()) await this.#source.deliver();
    } catch (error) {
      this.#source.onFailed(error);
      this.#retryAfter = Date.now() + this.#source.retry_ms;
      throw error;
    }
  }

  #isDue(): boolean {
    return Date.now() >= this.#retryAfter && this.#source.hasPending();
  }
}
