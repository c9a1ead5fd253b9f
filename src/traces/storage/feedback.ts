import type { FeedbackRow } from "./rows.ts";

export type FeedbackQuery = {
  run_ids: string[] | null;
  keys: string[];
  sources: string[];
  limit: number;
};

/** What people and programs think of runs. One row per id: sent twice it is there once. */
export class Feedback {
  readonly #sql: SqlStorage;

  constructor(sql: SqlStorage) {
    this.#sql = sql;
  }

  put(row: FeedbackRow): void {
    this.#sql.exec(
      `INSERT INTO feedback (id, run_id, key, score, value, source, comment, body, created_at)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
       ON CONFLICT (id) DO UPDATE SET key = excluded.key, score = excluded.score,
         value = excluded.value, source = excluded.source, comment = excluded.comment,
         body = excluded.body`,
      row.id,
      row.run_id,
      row.key,
      row.score,
      row.value,
      row.source,
      row.comment,
      row.body,
      row.created_at,
    );
  }

  list({ run_ids, keys, sources, limit }: FeedbackQuery): FeedbackRow[] {
    return this.#sql
      .exec<FeedbackRow>(
        `SELECT * FROM feedback
         WHERE (?1 IS NULL OR run_id IN (SELECT value FROM json_each(?1)))
           AND (?2 = '[]' OR key IN (SELECT value FROM json_each(?2)))
           AND (?3 = '[]' OR source IN (SELECT value FROM json_each(?3)))
         ORDER BY created_at DESC, id LIMIT ?4`,
        run_ids === null ? null : JSON.stringify(run_ids),
        JSON.stringify(keys),
        JSON.stringify(sources),
        limit,
      )
      .toArray();
  }
}
