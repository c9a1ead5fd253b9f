import type { FiringRow } from "./records.ts";

/** Maximum firings that are kept of each cron. */
const MAX_FIRINGS = 20;
const MAX_MESSAGE_CHARS = 1000;

/** The last firings of the crons of a deployment. The table is created with the first cron. */
export class Firings {
  readonly #sql: SqlStorage;

  constructor(sql: SqlStorage) {
    this.#sql = sql;
  }

  /**
   * Writes one row: a later attempt replaces the earlier one of the same firing, and a new firing replaces the oldest
   * one of a cron that has `MAX_FIRINGS`. Writes nothing when the cron was deleted.
   */
  put({ cron_id, at, fired_at, is_manual, outcome, run_id, thread_id, message }: FiringRow): void {
    const text = message?.slice(0, MAX_MESSAGE_CHARS) ?? null;
    const values = [cron_id, at, fired_at, is_manual ? 1 : 0, outcome, run_id, thread_id, text];
    const { rowsWritten } = this.#sql.exec(
      `UPDATE firings SET (at, fired_at, is_manual, outcome, run_id, thread_id, message) =
         (?2, ?3, ?4, ?5, ?6, ?7, ?8)
       WHERE cron_id = ?1 AND at = coalesce(
         (SELECT at FROM firings WHERE cron_id = ?1 AND at = ?2),
         (SELECT at FROM firings WHERE cron_id = ?1 ORDER BY at DESC LIMIT 1 OFFSET ${MAX_FIRINGS - 1}))`,
      ...values,
    );
    if (rowsWritten > 0) return;
    this.#sql.exec(
      `INSERT INTO firings (cron_id, at, fired_at, is_manual, outcome, run_id, thread_id, message)
       SELECT ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8 WHERE EXISTS (SELECT 1 FROM crons WHERE cron_id = ?1)`,
      ...values,
    );
  }

  /** Lists the firings of a cron, newest first. */
  list(cron_id: string): FiringRow[] {
    const sql = "SELECT * FROM firings WHERE cron_id = ? ORDER BY at DESC";
    const rows = this.#sql.exec(sql, cron_id).toArray();
    // The columns are the row's own fields, as `put` wrote them.
    return rows.map((row) => ({ ...row, is_manual: row.is_manual === 1 })) as FiringRow[];
  }

  deleteOrphans(): void {
    this.#sql.exec("DELETE FROM firings WHERE cron_id NOT IN (SELECT cron_id FROM crons)");
  }
}
