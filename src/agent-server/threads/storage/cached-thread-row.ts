import { insertRows } from "../log/insert.ts";
import type { ThreadRow } from "./thread-rows.ts";

/**
 * The row of the thread, cached. A transaction writes its changes as one statement at its end, and drops
 * the cache when it fails.
 */
export class CachedThreadRow {
  readonly #sql: SqlStorage;
  #cached: ThreadRow | null = null;
  #isNew = false;
  readonly #changed = new Set<keyof ThreadRow>();

  constructor(sql: SqlStorage) {
    this.#sql = sql;
  }

  get(): Readonly<ThreadRow> {
    return this.#row();
  }

  insert(row: ThreadRow) {
    this.#isNew = true;
    this.#cached = row;
  }

  /** Changes the thread: readers see a new `updated_at`, and the directory gets a new entry. */
  change(patch: Partial<ThreadRow>) {
    const directory_seq = this.#row().directory_seq + 1;
    this.set({ ...patch, updated_at: new Date().toISOString(), directory_seq });
  }

  /** Sets columns that are no change of the thread. */
  set(patch: Partial<ThreadRow>) {
    Object.assign(this.#row(), patch);
    for (const column of Object.keys(patch)) this.#changed.add(column as keyof ThreadRow);
  }

  flush() {
    const row = this.#cached;
    if (!row) return;
    if (this.#isNew) {
      const columns = Object.keys(row).map((column) => `"${column}"`);
      insertRows(this.#sql, `INSERT INTO thread (${columns.join(", ")})`, [Object.values(row)]);
    } else if (this.#changed.size > 0) {
      const changed = [...this.#changed];
      const set = changed.map((column) => `"${column}" = ?`).join(", ");
      this.#sql.exec(`UPDATE thread SET ${set}`, ...changed.map((column) => row[column]));
    }
    this.#isNew = false;
    this.#changed.clear();
  }

  /** Drops the cache after a failed transaction: it may hold what was not written. */
  clear() {
    this.#cached = null;
    this.#isNew = false;
    this.#changed.clear();
  }

  #row(): ThreadRow {
    this.#cached ??= this.#sql.exec<ThreadRow>("SELECT * FROM thread").one();
    return this.#cached;
  }
}
