import { AppError } from "../errors.ts";
import { type ChangeFeed, changeFeed } from "./change-feed.ts";

type RecordCacheOptions<T> = {
  /** Maximum age of the poll that confirms a record. A change in another isolate may stay unknown a second longer. */
  max_age_ms: number;
  /** Maximum time for which a record serves while D1 does not answer. */
  max_outage_ms: number;
  /** The deployment or the organization whose changes may change the record. */
  scopeOf(value: T): string;
  /** Time at which the record ends by itself, in epoch milliseconds. */
  endOf?(value: T): number;
  /** Time after which a record is read again although it has not changed. */
  life_ms?: number;
  max_entries?: number;
  /** Characters of a record. The sum has a limit, because records of one tenant may be large. */
  sizeOf?(value: T): number;
  feed?: ChangeFeed;
};

type Entry<T> = {
  value: T;
  scope: string;
  size: number;
  read_at: number;
  read_again_at: number;
  ends_at: number;
};

const LIFE_MS = 10 * 60 * 1000;
const MAX_ENTRIES = 1000;
/** A parsed character may take 16 bytes of the 128 MB of an isolate, such as those of empty arrays. */
const MAX_CHARACTERS = 4 * 1024 * 1024;
/** Time for which other callers get the present record while one caller reads it again. */
const READING_MS = 1000;

/**
 * Records of D1 in the memory of an isolate. The change feed shows which are current. Without D1 they serve for a
 * bounded time, unless the isolate has seen a change or a refusal.
 */
export class RecordCache<T> {
  readonly #options: Required<RecordCacheOptions<T>>;
  readonly #entries = new Map<string, Entry<T>>();
  #characters = 0;
  #invalidations = 0;

  constructor(options: RecordCacheOptions<T>) {
    const endOf = () => Number.POSITIVE_INFINITY;
    const sizeOf = () => 0;
    const limits = { life_ms: LIFE_MS, max_entries: MAX_ENTRIES };
    const defaults = { endOf, sizeOf, ...limits, feed: changeFeed };
    this.#options = { ...defaults, ...options };
    this.#options.feed.subscribe((scopes) =>
      this.forget((_key, { scope }) => scopes === null || scopes.has(scope)),
    );
  }

  /** Returns the cached record, or reads it. A refusal (AppError) is not cached: it removes the record. */
  async get(
    env: Env,
    key: string,
    read: () => Promise<T>,
    max_age_ms = this.#options.max_age_ms,
  ): Promise<T> {
    const { feed } = this.#options;
    const isConfirmed = await feed.poll(env, max_age_ms);
    const entry = this.#find(key);
    if (entry && !isConfirmed && this.#mayServe(entry)) return entry.value;
    if (entry && isConfirmed && Date.now() < entry.read_again_at) return entry.value;
    if (entry) entry.read_again_at = Date.now() + READING_MS;
    try {
      return await this.#read(key, read);
    } catch (error) {
      const isRefused = error instanceof AppError;
      if (entry && !isRefused && this.#find(key) === entry && this.#mayServe(entry))
        return entry.value;
      this.#delete(key);
      throw error;
    }
  }

  has(key: string): boolean {
    return this.#entries.has(key);
  }

  /** Every write that changes a cached record calls this, in the isolate where it happens. */
  forget(matches: (key: string, entry: { value: T; scope: string }) => boolean): void {
    this.#invalidations += 1;
    for (const [key, entry] of this.#entries) if (matches(key, entry)) this.#delete(key);
  }

  #find(key: string): Entry<T> | null {
    const entry = this.#entries.get(key);
    return entry && Date.now() < entry.ends_at ? entry : null;
  }

  #mayServe({ read_at }: Entry<T>): boolean {
    const { feed, max_outage_ms } = this.#options;
    return Date.now() < Math.max(read_at, feed.confirmedAt) + max_outage_ms;
  }

  async #read(key: string, read: () => Promise<T>): Promise<T> {
    const { feed, scopeOf, sizeOf, endOf, life_ms } = this.#options;
    const read_at = Date.now();
    const { version } = feed;
    const invalidations = this.#invalidations;
    const value = await read();
    // Does not cache a value before the first poll, or when `forget` was called during the read: it may be outdated.
    if (version === null || invalidations !== this.#invalidations) return value;
    this.#delete(key);
    const size = sizeOf(value);
    this.#makeRoom(size);
    const times = { read_at, read_again_at: read_at + life_ms, ends_at: endOf(value) };
    this.#entries.set(key, { value, scope: scopeOf(value), size, ...times });
    this.#characters += size;
    return value;
  }

  /** Deletes the oldest records until one of this size has room. */
  #makeRoom(size: number): void {
    const { max_entries } = this.#options;
    for (const key of this.#entries.keys()) {
      const hasRoom = this.#characters + size <= MAX_CHARACTERS;
      if (hasRoom && this.#entries.size < max_entries) return;
      this.#delete(key);
    }
  }

  #delete(key: string): void {
    this.#characters -= this.#entries.get(key)?.size ?? 0;
    this.#entries.delete(key);
  }
}
