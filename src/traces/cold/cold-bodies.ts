import type { FrameEntry } from "../segments/codec/frames.ts";
import type { FetchedFrames } from "./fetched-frames.ts";
import { type MissingFrames, ReadAttempt } from "./read-attempt.ts";

/** Multipart upload of a body to R2. */
export type BodyUpload = { key: string; upload_id: string };
/** Object in R2 that has the body of a segment. */
export type BodyCopy = { number: number; key: string; bytes: number };

/** Matches bodies that are only in R2. */
const ONLY_IN_R2 = "upload_id IS NULL AND restored_at IS NULL";

/**
 * Copies of segments' bodies in R2. A segment whose body is only in R2 has an empty `body`. Reads are synchronous: a
 * read that needs such a body is repeated after its frames were fetched or the body was restored.
 */
export class ColdBodies {
  readonly #sql: SqlStorage;
  /** Keys of the bodies that are only in R2, by the numbers of their segments. `null` until they are read. */
  #cold: Map<number, string> | null = null;
  /** Attempt under way, `null` between attempts. */
  #attempt: ReadAttempt | null = null;

  constructor(sql: SqlStorage) {
    this.#sql = sql;
  }

  /** Clears the cache after the storage was rolled back or replaced. */
  clearCache(): void {
    this.#cold = null;
  }

  /** Returns the key in R2 of a segment's body, `null` while the Durable Object has the body itself. */
  r2KeyOf(number: number): string | null {
    this.#cold ??= new Map(
      this.#sql
        .exec<{ number: number; key: string }>(
          `SELECT number, key FROM cold_bodies WHERE ${ONLY_IN_R2}`,
        )
        .toArray()
        .map((row) => [row.number, row.key]),
    );
    return this.#cold.get(number) ?? null;
  }

  /**
   * Runs `work`, which reads bodies.
   * @returns its result, or the frames that it lacks, of at most `limit` segments. `work` must have rolled back its
   * writes when it lacks frames: the caller repeats it.
   */
  attempt<T>(
    limit: number,
    fetched: FetchedFrames,
    work: () => T,
  ): { result: T } | { missing: MissingFrames[] } {
    const attempt = new ReadAttempt(limit, fetched);
    this.#attempt = attempt;
    try {
      const result = work();
      if (attempt.isComplete) return { result };
    } catch (error) {
      if (attempt.isComplete) throw error;
    } finally {
      this.#attempt = null;
    }
    return { missing: attempt.missing };
  }

  /**
   * Returns a packed frame of a body in R2. Records a frame that was not fetched, and returns `null`: the attempt
   * continues, to find what else it lacks.
   * @throws Error outside of an attempt, and when the attempt lacks frames of more segments than its limit
   */
  frame(number: number, key: string, entry: FrameEntry): Uint8Array | null {
    if (this.#attempt === null) throw new Error(`The body of segment ${number} is in R2`);
    const packed = this.#attempt.fetched.get(key, entry);
    if (packed === null) this.#attempt.miss(number, entry);
    return packed;
  }

  /** @throws Error when the attempt lacks frames: nothing of it may be committed */
  assertComplete(): void {
    this.#attempt?.assertComplete();
  }

  /** Numbers of the segments whose body is in R2 or being uploaded. */
  get numbersWithObject(): Set<number> {
    const rows = this.#sql.exec<{ number: number }>("SELECT number FROM cold_bodies");
    return new Set(rows.toArray().map(({ number }) => number));
  }

  /** Bytes of the complete copies in R2. Those of restored bodies count too. */
  get bytes(): number {
    return this.#sql
      .exec<{ bytes: number }>(
        "SELECT coalesce(sum(bytes), 0) AS bytes FROM cold_bodies WHERE upload_id IS NULL",
      )
      .one().bytes;
  }

  get isEmpty(): boolean {
    return this.#sql.exec("SELECT 1 FROM cold_bodies LIMIT 1").toArray().length === 0;
  }

  /** Returns the number of the first segment whose body has at least `min_bytes`, and neither a copy nor an upload. */
  nextHot(min_bytes: number): number | null {
    const [row] = this.#sql
      .exec<{ number: number }>(
        `SELECT number FROM segments WHERE length(body) >= ?
           AND number NOT IN (SELECT number FROM cold_bodies) ORDER BY number LIMIT 1`,
        min_bytes,
      )
      .toArray();
    return row?.number ?? null;
  }

  /**
   * Records an upload before its first byte.
   * @returns the body, `null` when the segment is gone
   */
  begin(number: number, { key, upload_id }: BodyUpload): Uint8Array | null {
    const [row] = this.#sql
      .exec<{ body: ArrayBuffer }>("SELECT body FROM segments WHERE number = ?", number)
      .toArray();
    if (row === undefined) return null;
    this.#sql.exec(
      "INSERT INTO cold_bodies (number, key, bytes, upload_id) VALUES (?, ?, ?, ?)",
      number,
      key,
      row.body.byteLength,
      upload_id,
    );
    return new Uint8Array(row.body);
  }

  /** Completes an upload: drops the body from the Durable Object. Does nothing when the segment has changed since. */
  commit(number: number, key: string): void {
    const committed = this.#sql.exec(
      "UPDATE cold_bodies SET upload_id = NULL WHERE number = ? AND key = ?",
      number,
      key,
    );
    if (committed.rowsWritten === 0) return;
    this.#sql.exec("UPDATE segments SET body = x'' WHERE number = ?", number);
    this.#cold = null;
  }

  /** Whether a segment has this object, also while it is being uploaded. */
  hasObject(key: string): boolean {
    const found = this.#sql.exec("SELECT 1 FROM cold_bodies WHERE key = ?", key);
    return found.toArray().length > 0;
  }

  /** Returns the copies of the given segments, except those whose body the Durable Object has too. */
  copiesOf(numbers: number[]): BodyCopy[] {
    return this.#sql
      .exec<BodyCopy>(
        `SELECT number, key, bytes FROM cold_bodies
         WHERE ${ONLY_IN_R2} AND number IN (SELECT value FROM json_each(?))`,
        JSON.stringify(numbers),
      )
      .toArray();
  }

  /**
   * Restores a body, unless its segment has changed since `copy` was read.
   * @param body `null` when R2 has no object, which is an error unless the segment has changed
   */
  restore({ number, key, bytes }: BodyCopy, body: ArrayBuffer | null): void {
    if (!this.copiesOf([number]).some((copy) => copy.key === key)) return;
    if (body?.byteLength !== bytes)
      throw new Error(`${key}: ${body?.byteLength} of ${bytes} bytes`);
    this.#sql.exec("UPDATE segments SET body = ? WHERE number = ?", body, number);
    this.#sql.exec("UPDATE cold_bodies SET restored_at = ? WHERE number = ?", Date.now(), number);
    this.#cold = null;
  }

  /** Drops bodies that were restored at a time or earlier, in milliseconds since 1970: R2 still has their copies. */
  dropRestored(until: number): void {
    const restored = "SELECT number FROM cold_bodies WHERE restored_at <= ?";
    this.#sql.exec(`UPDATE segments SET body = x'' WHERE number IN (${restored})`, until);
    this.#sql.exec("UPDATE cold_bodies SET restored_at = NULL WHERE restored_at <= ?", until);
    this.#cold = null;
  }

  /** Earliest time at which a body that is still here was restored, in milliseconds since 1970. `null` without any. */
  get firstRestored(): number | null {
    return this.#sql
      .exec<{ at: number | null }>("SELECT min(restored_at) AS at FROM cold_bodies")
      .one().at;
  }

  /** Forgets the copy of a segment that is changed or deleted. The alarm deletes the copy from R2. */
  forget(number: number): void {
    this.#forget(`number = ${number}`);
  }

  forgetAll(): void {
    this.#forget("true");
  }

  /** Forgets open uploads, whose processes have ended: only the alarm uploads, and one alarm runs at a time. */
  forgetUploads(): void {
    this.#forget("upload_id IS NOT NULL");
  }

  /** Turns rows into leftovers of the kind `sealed`: the alarm aborts their uploads and deletes their objects. */
  #forget(where: string): void {
    this.#sql.exec(
      `INSERT OR IGNORE INTO leftovers (kind, id)
       SELECT 'sealed', json_object('key', key, 'upload_id', upload_id)
       FROM cold_bodies WHERE ${where}`,
    );
    this.#sql.exec(`DELETE FROM cold_bodies WHERE ${where}`);
    this.#cold = null;
  }
}
