import type { FiringRow } from "./records.ts";

/** Number of firings that are kept of each cron. */
const MAX_FIRINGS = 20;
const MAX_MESSAGE_CHARS = 1000;

/** The last firings of the crons of a deployment. Exists once a cron does. */
export class Firings {
  readonly #sql: SqlStorage;

  constructor(sql: SqlStorage) {
    this.#sql = sql;
  }

  /** A later attempt of the same firing replaces the earlier one. */
  put({ cron_id, at, fired_at, is_manual, outcome, run_id, thread_id, message }: FiringRow): void {
    this.#sql.exec(
      `INSERT OR REPLACE INTO firings
         (cron_id, at, fired_at, is_manual, outcome, run_id, thread_id, message)
       SELECT ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8 WHERE EXISTS (SELECT 1 FROM crons WHERE cron_id = ?1)`,
      ...[cron_id, at, fired_at, is_manual ? 1 : 0, outcome, run_id, thread_id],
      message?.slice(0, MAX_MESSAGE_CHARS) ?? null,
    );
    this.#sql.exec(
      `DELETE FROM firings WHERE cron_id = ?1 AND at NOT IN
         (SELECT at FROM firings WHERE cron_id = ?1 ORDER BY at DESC LIMIT ${MAX_FIRINGS})`,
      cron_id,
    );
  }

  /** The newest first. */
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
