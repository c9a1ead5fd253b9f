import type { FeedbackStat, FeedbackValue } from "../reads/run-pages.ts";
import { type FeedbackRow, SHOWN_VALUE } from "../rows/rows.ts";

export type FeedbackRowQuery = {
  run_ids: string[] | null;
  keys: string[];
  sources: string[];
  has_comment: boolean | null;
  has_score: boolean | null;
  min_created_at: string | null;
  max_created_at: string | null;
  limit: number;
};

export type FeedbackPosition = Pick<FeedbackRow, "id" | "created_at">;

export type KeptFields = Pick<FeedbackRow, "run_id" | "created_at">;

/** Condition on feedback that extends the retention of its run's trace, which is the default. */
const EXTENDS = "json_extract(body, '$.extend_trace_retention') IS NOT 0";

/** Size of a statistic and a value in a message, with the names of their fields, without keys and values. */
const ROW_BYTES = 250;

/** Feedback with one row per id; a repeated id updates its row. */
export class FeedbackTable {
  readonly #sql: SqlStorage;
  readonly #onChange: () => void;

  /** @param onChange runs in the transaction of each change */
  constructor(sql: SqlStorage, onChange: () => void) {
    this.#sql = sql;
    this.#onChange = onChange;
  }

  /** Returns the fields that a repeated id keeps. */
  put(row: FeedbackRow): KeptFields {
    this.#onChange();
    const stored = this.#sql.exec<KeptFields>(
      `INSERT INTO feedback
         (id, run_id, key, score, value, source, comment, body, created_at, modified_at)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
       ON CONFLICT (id) DO UPDATE SET key = excluded.key, score = excluded.score,
         value = excluded.value, source = excluded.source, comment = excluded.comment,
         body = excluded.body, modified_at = excluded.modified_at
       RETURNING run_id, created_at`,
      row.id,
      row.run_id,
      row.key,
      row.score,
      row.value,
      row.source,
      row.comment,
      row.body,
      row.created_at,
      row.modified_at,
    );
    return stored.one();
  }

  get(id: string): FeedbackRow | null {
    const [row] = this.#sql.exec<FeedbackRow>("SELECT * FROM feedback WHERE id = ?", id).toArray();
    return row ?? null;
  }

  /** Returns whether the row existed. */
  delete(id: string): boolean {
    const isDeleted = this.#sql.exec("DELETE FROM feedback WHERE id = ?", id).rowsWritten > 0;
    if (isDeleted) this.#onChange();
    return isDeleted;
  }

  /** A caller names few ids: a row has up to 200,000 characters, a message 32 MiB. */
  byIds(ids: string[]): FeedbackRow[] {
    return this.#sql
      .exec<FeedbackRow>(
        "SELECT * FROM feedback WHERE id IN (SELECT value FROM json_each(?))",
        JSON.stringify(ids),
      )
      .toArray();
  }

  /** Returns the positions of the matching rows, the newest first. */
  list(query: FeedbackRowQuery): FeedbackPosition[] {
    const { run_ids, keys, sources, has_comment, has_score, limit } = query;
    return this.#sql
      .exec<FeedbackPosition>(
        `SELECT id, created_at FROM feedback
         WHERE (?1 IS NULL OR run_id IN (SELECT value FROM json_each(?1)))
           AND (?2 = '[]' OR key IN (SELECT value FROM json_each(?2)))
           AND (?3 = '[]' OR source IN (SELECT value FROM json_each(?3)))
           AND (?4 IS NULL OR (ifnull(comment, '') <> '') = ?4)
           AND (?5 IS NULL OR (score IS NOT NULL) = ?5)
           AND (?6 IS NULL OR created_at >= ?6)
           AND (?7 IS NULL OR created_at <= ?7)
         ORDER BY created_at DESC, id LIMIT ?8`,
        run_ids === null ? null : JSON.stringify(run_ids),
        JSON.stringify(keys),
        JSON.stringify(sources),
        has_comment === null ? null : Number(has_comment),
        has_score === null ? null : Number(has_score),
        query.min_created_at,
        query.max_created_at,
        limit,
      )
      .toArray();
  }

  /** Returns runs whose feedback extends the retention of their traces. */
  extendedRuns(): Set<string> {
    const rows = this.#sql.exec<{ run_id: string }>(
      `SELECT DISTINCT run_id FROM feedback WHERE ${EXTENDS}`,
    );
    return new Set([...rows].map(({ run_id }) => run_id));
  }

  /** Returns those of the runs whose feedback extends the retention of their traces. */
  extendedAmong(run_ids: string[]): Set<string> {
    const rows = this.#sql.exec<{ run_id: string }>(
      `SELECT DISTINCT run_id FROM feedback
       WHERE run_id IN (SELECT value FROM json_each(?)) AND ${EXTENDS}`,
      JSON.stringify(run_ids),
    );
    return new Set([...rows].map(({ run_id }) => run_id));
  }

  get isEmpty(): boolean {
    return this.#sql.exec("SELECT 1 FROM feedback LIMIT 1").toArray().length === 0;
  }

  statsOf(run_ids: string[]): (FeedbackStat & { run_id: string })[] {
    return this.#sql
      .exec<FeedbackStat & { run_id: string }>(
        `SELECT run_id, key, count(*) AS n, avg(score) AS avg FROM feedback
         WHERE run_id IN (SELECT value FROM json_each(?)) GROUP BY run_id, key`,
        JSON.stringify(run_ids),
      )
      .toArray();
  }

  /** Estimates the bytes of the statistics and values of runs in a message. */
  bytesOf(run_ids: string[]): number {
    return this.#sql
      .exec<{ bytes: number }>(
        `SELECT coalesce(sum(${ROW_BYTES} + 2 * length(key) + coalesce(length(${SHOWN_VALUE}), 0)), 0) AS bytes
         FROM feedback WHERE run_id IN (SELECT value FROM json_each(?))`,
        JSON.stringify(run_ids),
      )
      .one().bytes;
  }

  /** Counts text values by their beginning. Values that are numbers or objects are not counted. */
  valuesOf(run_ids: string[]): (FeedbackValue & { run_id: string })[] {
    return this.#sql
      .exec<FeedbackValue & { run_id: string }>(
        `SELECT run_id, key, ${SHOWN_VALUE} AS value, count(*) AS n FROM feedback
         WHERE json_type(body, '$.value') = 'text' AND run_id IN (SELECT value FROM json_each(?))
         GROUP BY run_id, key, ${SHOWN_VALUE}`,
        JSON.stringify(run_ids),
      )
      .toArray();
  }
}
