type Limits = {
  /** Time in which items of a batch are collected. */
  window_ms: number;
  /** Interval at which objects poll a batch. */
  poll_ms: number;
  /** Maximum wait for an outcome: the object that sends a batch may be evicted during its call. */
  timeout_ms: number;
  /** Maximum sum of the sizes of a batch. The items of one larger `add` are a batch by themselves. */
  max_size: number;
};

/** Batch as plain data, without a promise: Durable Objects cannot await each other's promises. */
type Batch<T> = {
  items: T[];
  size: number;
  until: number;
  isClaimed: boolean;
  outcome: { error: unknown } | null;
};

type Send<T> = (items: T[]) => Promise<void>;

/** Interval at which `flush` polls batches that other objects send, and its maximum wait for them. */
const FLUSH_POLL_MS = 5;
const MAX_FLUSH_MS = 1000;

/**
 * Collects the items that the Durable Objects of an isolate send under one key within a short time, for one call.
 * Nothing is stored: each object keeps its items until their batch was sent.
 */
export class Batcher<T> {
  readonly #limits: Limits;
  readonly #open = new Map<string, Batch<T>>();
  readonly #unsent = new Set<Batch<T>>();

  constructor(limits: Limits) {
    this.#limits = limits;
  }

  /**
   * Resolves when the items were sent. The object that began the batch sends it, or else the first object that polls.
   * Rejects when the call fails or its outcome takes too long.
   */
  async add(key: string, items: T[], size: number, send: Send<T>): Promise<void> {
    const { batch, isLeader } = this.#join(key, items, size);
    const { poll_ms, timeout_ms } = this.#limits;
    const wait_ms = batch.until + (isLeader ? 0 : poll_ms) - Date.now();
    for (let left = wait_ms; left > 0 && !batch.isClaimed; left -= poll_ms) {
      await scheduler.wait(Math.min(poll_ms, left));
    }
    if (!batch.isClaimed) await this.#send(key, batch, send);
    while (batch.outcome === null) {
      if (Date.now() > batch.until + timeout_ms) throw new Error("The call of a batch timed out");
      await scheduler.wait(poll_ms);
    }
    if (batch.outcome.error !== undefined) throw batch.outcome.error;
  }

  /** Sends the open batches, and waits for those that are being sent. Their objects receive the failures from `add`. */
  async flush(send: Send<T>): Promise<void> {
    await Promise.all([...this.#open].map(([key, batch]) => this.#send(key, batch, send)));
    const deadline = Date.now() + MAX_FLUSH_MS;
    for (const batch of this.#unsent) {
      if (Date.now() > batch.until + this.#limits.timeout_ms) this.#unsent.delete(batch);
      while (this.#unsent.has(batch) && Date.now() < deadline) await scheduler.wait(FLUSH_POLL_MS);
    }
  }

  /** Removes items that were not sent yet. */
  drop(key: string, isDropped: (item: T) => boolean) {
    const batch = this.#open.get(key);
    if (batch) batch.items = batch.items.filter((item) => !isDropped(item));
  }

  #join(key: string, items: T[], size: number) {
    const open = this.#open.get(key);
    if (open && Date.now() < open.until && open.size + size <= this.#limits.max_size) {
      open.items.push(...items);
      open.size += size;
      return { batch: open, isLeader: false };
    }
    const until = Date.now() + this.#limits.window_ms;
    const batch = { items: [...items], size, until, isClaimed: false, outcome: null };
    this.#open.set(key, batch);
    return { batch, isLeader: true };
  }

  async #send(key: string, batch: Batch<T>, send: Send<T>) {
    batch.isClaimed = true;
    if (this.#open.get(key) === batch) this.#open.delete(key);
    this.#unsent.add(batch);
    const error = await send(batch.items).catch((error: unknown) => error);
    batch.outcome = { error };
    this.#unsent.delete(batch);
  }
}
