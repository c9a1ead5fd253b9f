import type { StoredWrite } from "../../../../isolate/checkpoint-contract.ts";
import type { ThreadTables } from "../log/lazy-tables.ts";

export type NewWrite = StoredWrite & { ns: string; checkpoint_id: string };

/**
 * `has_write`: 1 when a write has the same key now. `replaced_by`: the run of that write, `null` for a state update.
 */
type ReplacedRow = { rowid: number; has_write: number; replaced_by: string | null };

const COLUMNS = "ns, checkpoint_id, task_id, path, idx, run_id, channel, type, data";
const WHERE_KEY = "ns = ? AND checkpoint_id = ? AND task_id = ? AND idx = ?";

/**
 * Resumes, interrupts and errors that a later run, in the column `by_run`, replaced with its own. They are restored
 * when the writes of that run are deleted. Writes whose data is in `parts` are not saved.
 */
export class ReplacedWrites {
  readonly #sql: SqlStorage;
  readonly #tables: ThreadTables;

  constructor(tables: ThreadTables) {
    this.#sql = tables.sql;
    this.#tables = tables;
  }

  /**
   * Saves writes of others that a run, or with `null` a state update, is about to replace. Those that a state update
   * replaces are not restored.
   * @returns whether there are such writes
   */
  save(run_id: string | null, writes: NewWrite[]): boolean {
    const ofOthers = `FROM writes WHERE ${WHERE_KEY} AND run_id IS NOT ?`;
    let hasOthers = false;
    for (const { ns, checkpoint_id, task_id, idx } of writes) {
      const values = [ns, checkpoint_id, task_id, idx, run_id];
      const sql = `SELECT data IS NOT NULL AS has_data ${ofOthers}`;
      const [other] = this.#sql.exec<{ has_data: number }>(sql, ...values).toArray();
      if (other === undefined) continue;
      hasOthers = true;
      if (other.has_data === 0 || run_id === null) continue;
      this.#tables.create("replaced_writes");
      this.#sql.exec(
        `INSERT INTO replaced_writes (${COLUMNS}, by_run) SELECT ${COLUMNS}, ? ${ofOthers}`,
        run_id,
        ...values,
      );
    }
    return hasOthers;
  }

  /**
   * Restores the writes that the run replaced, once its own are deleted. Where a third run has replaced the run's own
   * write, the older one is kept and restored with that run.
   */
  restore(run_id: string) {
    if (!this.#tables.has("replaced_writes")) return;
    this.#sql.exec("DELETE FROM replaced_writes WHERE run_id = ?", run_id);
    const rows = this.#sql
      .exec<ReplacedRow>(
        `SELECT old.rowid, now.task_id IS NOT NULL AS has_write, now.run_id AS replaced_by
         FROM replaced_writes AS old LEFT JOIN writes AS now
           ON now.ns = old.ns AND now.checkpoint_id = old.checkpoint_id
             AND now.task_id = old.task_id AND now.idx = old.idx
         WHERE old.by_run = ?`,
        run_id,
      )
      .toArray();
    for (const { rowid, has_write, replaced_by } of rows) {
      if (replaced_by !== null) {
        this.#sql.exec("UPDATE replaced_writes SET by_run = ? WHERE rowid = ?", replaced_by, rowid);
        continue;
      }
      // A state update is not rolled back: its write stays.
      if (has_write === 0) {
        this.#sql.exec(
          `INSERT INTO writes (${COLUMNS}) SELECT ${COLUMNS} FROM replaced_writes WHERE rowid = ?`,
          rowid,
        );
      }
      this.#sql.exec("DELETE FROM replaced_writes WHERE rowid = ?", rowid);
    }
  }
}
