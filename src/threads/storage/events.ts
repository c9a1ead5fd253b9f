import { outgrowsRow, type Parts } from "./parts.ts";

export type EventRow = { id: number; event: string; data: string };

// Bounded by rows, and by what a page of large values may take in memory.
const PAGE_ROWS = 256;

/** The log of what runs said. Ids only grow, over the whole life of the thread. */
export class Events {
  readonly #sql: SqlStorage;
  readonly #parts: Parts;

  constructor(sql: SqlStorage, parts: Parts) {
    this.#sql = sql;
    this.#parts = parts;
  }

  append(run_id: string, event: string, data: string) {
    const large = outgrowsRow(data);
    const insert = "INSERT INTO events (run_id, event, data) VALUES (?, ?, ?)";
    this.#sql.exec(insert, run_id, event, large ? null : data);
    if (large) this.#parts.put(eventName(this.lastId()), data);
  }

  lastId(): number {
    const { id } = this.#sql
      .exec<{ id: number }>("SELECT coalesce(max(id), 0) AS id FROM events")
      .one();
    return id;
  }

  /** The next events of a run after `after`, oldest first; fewer than a page means there are no more. */
  page(run_id: string, after: number): EventRow[] {
    return this.#sql
      .exec<{ id: number; event: string; data: string | null }>(
        "SELECT id, event, data FROM events WHERE id > ? AND run_id = ? ORDER BY id LIMIT ?",
        after,
        run_id,
        PAGE_ROWS,
      )
      .toArray()
      .map((row) => ({ ...row, data: this.#parts.text(eventName(row.id), row.data) }));
  }

  isFull(page: EventRow[]): boolean {
    return page.length === PAGE_ROWS;
  }

  deleteOf(run_id: string) {
    this.#sql.exec(
      "DELETE FROM parts WHERE name IN (SELECT 'event ' || id FROM events WHERE run_id = ? AND data IS NULL)",
      run_id,
    );
    this.#sql.exec("DELETE FROM events WHERE run_id = ?", run_id);
  }
}

function eventName(id: number): string {
  return `event ${id}`;
}
