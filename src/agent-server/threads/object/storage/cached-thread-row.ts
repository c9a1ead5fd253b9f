import { insertRows } from "../log/insert.ts";
import type { ThreadRow } from "./thread-rows.ts";

/**
 * The row of the thread, cached. A transaction writes its changes with at most one statement, at its end. A failed
 * transaction drops the cache.
 */
export class CachedThreadRow {
  readonly #sql: SqlStorage;
  #cached: ThreadRow | null = null;
  #isNew = false;
  readonly #changed = new Set<keyof ThreadRow>();
  #mustWrite = false;
  /** A new row that no transaction has written. */
  #unwritten: ThreadRow | null = null;
  /** Values that committed transactions left for a later write. A failed transaction does not drop them. */
  #later: Partial<ThreadRow> = {};
  /** Replaces `#later` once the transaction has succeeded. `null` before `flush`. */
  #flushed: Partial<ThreadRow> | null = null;
  #laterBeforeDeferral: Partial<ThreadRow> = {};

  constructor(sql: SqlStorage) {
    this.#sql = sql;
  }

  get exists(): boolean {
    return this.#find() !== null;
  }

  get(): Readonly<ThreadRow> {
    return this.#row();
  }

  insert(row: ThreadRow) {
    this.#clearChanges();
    this.#later = {};
    this.#isNew = true;
    this.#cached = row;
  }

  /** Changes the thread: readers see a new `updated_at`, and `directory_seq` grows. */
  change(patch: Partial<ThreadRow>) {
    this.changeLater(patch);
    this.#mustWrite = true;
  }

  /** Changes the thread without a write of its row. Another row must have what repeats the change after a restart. */
  changeLater(patch: Partial<ThreadRow>) {
    const directory_seq = this.#row().directory_seq + 1;
    this.setLater({ ...patch, updated_at: new Date().toISOString(), directory_seq });
  }

  /** Sets columns that neither readers nor the directory see. */
  set(patch: Partial<ThreadRow>) {
    this.setLater(patch);
    this.#mustWrite = true;
  }

  /** Sets columns that are written with the next change. A restart before that loses them. */
  setLater(patch: Partial<ThreadRow>) {
    Object.assign(this.#row(), patch);
    for (const column of Object.keys(patch)) this.#changed.add(column as keyof ThreadRow);
  }

  /** Whether the stored row has the value of the column. */
  isStored(column: keyof ThreadRow): boolean {
    this.#row();
    return !this.#isNew && !this.#changed.has(column);
  }

  flush() {
    const row = this.#cached;
    if (!row) return;
    if (this.#isNew) {
      const columns = Object.keys(row).map((column) => `"${column}"`);
      insertRows(this.#sql, `INSERT INTO thread (${columns.join(", ")})`, [Object.values(row)]);
    } else if (this.#mustWrite) {
      const changed = [...this.#changed];
      const set = changed.map((column) => `"${column}" = ?`).join(", ");
      this.#sql.exec(`UPDATE thread SET ${set}`, ...changed.map((column) => row[column]));
    } else {
      this.#flushed = Object.fromEntries([...this.#changed].map((column) => [column, row[column]]));
      return;
    }
    this.#clearChanges();
    this.#flushed = {};
  }

  /**
   * Keeps a new row for the next transaction: a failed transaction does not drop it. Writes changes of a stored row.
   */
  defer() {
    this.#laterBeforeDeferral = this.#later;
    if (this.#isNew && this.#cached) this.#unwritten = { ...this.#cached };
    else this.flush();
    this.#commit();
  }

  /** Drops the row or the values that `defer` kept. */
  dropDeferred() {
    this.#later = this.#laterBeforeDeferral;
    this.#unwritten = null;
    this.clear();
  }

  /** Called when a transaction has succeeded. */
  endDeferral() {
    this.#unwritten = null;
    this.#commit();
  }

  /** Drops the cache after a failed transaction, whose changes it may hold. */
  clear() {
    this.#cached = null;
    this.#clearChanges();
  }

  #commit() {
    this.#later = this.#flushed ?? this.#later;
    this.#flushed = null;
  }

  #clearChanges() {
    this.#isNew = this.#mustWrite = false;
    this.#changed.clear();
    this.#flushed = null;
  }

  #row(): ThreadRow {
    const row = this.#find();
    if (row === null) throw new Error("The object has no thread");
    return row;
  }

  #find(): ThreadRow | null {
    if (this.#cached) return this.#cached;
    if (this.#unwritten) {
      this.#isNew = true;
      this.#cached = { ...this.#unwritten };
      return this.#cached;
    }
    const [row] = this.#sql.exec<ThreadRow>("SELECT * FROM thread").toArray();
    if (!row) return null;
    for (const column of Object.keys(this.#later)) this.#changed.add(column as keyof ThreadRow);
    this.#cached = { ...row, ...this.#later };
    return this.#cached;
  }
}
