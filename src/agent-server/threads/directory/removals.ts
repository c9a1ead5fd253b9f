/**
 * Age at which an entry does not add a thread any more. Its publisher sends a new one, when the thread still exists.
 * So a removal is kept for a bounded time.
 */
export const MAX_ENTRY_AGE_MS = 10 * 60 * 1000;
/** Removals of the same time share a bucket: the rows that expire have the smallest keys. */
const BUCKET_MS = 5 * 60 * 1000;
/** Buckets that may have a removal of which an older entry can arrive. Clocks may differ by one bucket. */
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
    // A removal without a sequence is of an entry without a thread, whose id may be used again.
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

  /** @returns `null` when no removal is kept */
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
