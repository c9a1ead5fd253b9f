type OutboxSource = {
  /** Delay before the next attempt after a failure. It doubles with each further one. */
  retry_ms: number;
  /** Failures in a row. Stored, because the object leaves the memory between two attempts. */
  failures: { get(): number; set(count: number): void };
  hasPending(): boolean;
  /** Delivers the next entries and removes them. Called until nothing is pending. */
  deliver(): Promise<void>;
  /** Earliest time of a scheduled delivery, in epoch milliseconds. */
  dueAt(): number;
  onFailed(error: unknown): void;
  onFlushed(): void;
};

const MAX_RETRY_MS = 5 * 60 * 1000;

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
    return this.#source.hasPending() ? Date.now() + this.#pause() : null;
  }

  /** Schedules a delivery in a later turn of the event loop: entries of one turn are delivered together. */
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

  /** Delivers all entries now, even before the time of a retry. Rejects when a delivery fails. */
  flush(): Promise<void> {
    this.#flushing ??= this.#flushAll().finally(() => {
      this.#flushing = null;
      this.#source.onFlushed();
    });
    return this.#flushing;
  }

  async #flushAll(): Promise<void> {
    const { failures } = this.#source;
    try {
      while (this.#source.hasPending()) await this.#source.deliver();
    } catch (error) {
      this.#source.onFailed(error);
      // The object may have been deleted during the delivery.
      if (this.#source.hasPending()) failures.set(failures.get() + 1);
      this.#retryAfter = Date.now() + this.#pause();
      throw error;
    }
    if (failures.get() > 0) failures.set(0);
  }

  #pause(): number {
    const { retry_ms, failures } = this.#source;
    return Math.min(MAX_RETRY_MS, retry_ms * 2 ** Math.max(0, failures.get() - 1));
  }

  #isDue(): boolean {
    return Date.now() >= this.#retryAfter && this.#source.hasPending();
  }
}
