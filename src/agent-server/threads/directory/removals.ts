/**
 * Age from which an entry adds no thread: the object of an existing thread then sends a new entry. So removals need to
 * be kept only for a bounded time.
 */
export const MAX_ENTRY_AGE_MS = 10 * 60 * 1000;
/** Width of a bucket of removals. Buckets are numbered by time, so the rows that expire have the smallest keys. */
const BUCKET_MS = 5 * 60 * 1000;
/** Earlier buckets that are kept: those that an entry of `MAX_ENTRY_AGE_MS` can need, and two for differing clocks. */
const LIVE_BUCKETS = MAX_ENTRY_AGE_MS / BUCKET_MS + 2;

type Removal = { thread_id: string; seq: number };

/** Removed threads: an entry that was sent before a removal may arrive after it. */
export class Removals {
  readonly #sql: SqlStorage;

  constructor(sql: SqlStorage) {
    this.#sql = sql;
  }

  /** The caller opens the transaction. */
  add({ thread_id, seq }: Removal) {
    // `forgetEntries` removes entries whatever their `seq`. A stored row would refuse a new thread with the same id.
    if (seq === Number.MAX_SAFE_INTEGER) return;
    this.#sql.exec("DELETE FROM removals WHERE bucket < ?", oldestBucket());
    this.#sql.exec(
      `INSERT INTO removals VALUES (?, ?, ?)
       ON CONFLICT (bucket, thread_id) DO UPDATE SET seq = max(seq, excluded.seq)`,
      ...[bucketOf(Date.now()), thread_id, seq],
    );
  }

  includes({ thread_id, seq }: Removal): boolean {
    const first = oldestBucket();
    const buckets = Array.from({ length: LIVE_BUCKETS + 1 }, (_, n) => first + n);
    const found = this.#sql.exec(
      `SELECT 1 FROM removals WHERE bucket IN (${buckets.map(() => "?").join(", ")})
         AND thread_id = ? AND seq >= ? LIMIT 1`,
      ...[...buckets, thread_id, seq],
    );
    return found.toArray().length > 0;
  }

  /** @returns the time at which the last removal expires, in epoch milliseconds; `null` when none is kept */
  keptUntil(): number | null {
    const newest = this.#sql
      .exec<{ bucket: number | null }>("SELECT max(bucket) AS bucket FROM removals")
      .one().bucket;
    return newest === null || newest < oldestBucket()
      ? null
      : (newest + LIVE_BUCKETS + 1) * BUCKET_MS;
  }
}

function bucketOf(ms: number): number {
  return Math.floor(ms / BUCKET_MS);
}

function oldestBucket(): number {
  return bucketOf(Date.now()) - LIVE_BUCKETS;
}
