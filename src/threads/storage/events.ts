import { outgrowsRow, type Parts } from "./parts.ts";

export type EventRow = { id: number; event: string; data: string };

// Of a reader's next chunk: an isolate of 128 MB may serve many readers.
const PAGE_ROWS = 256;
const PAGE_CHARACTERS = 512 * 1024;

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

  /** The next events of a run after `after`, oldest first; none means there are no more by now. */
  page(run_id: string, after: number): EventRow[] {
    const rows = this.#sql.exec<{ id: number; event: string; data: string | null }>(
      "SELECT id, event, data FROM events WHERE id > ? AND run_id = ? ORDER BY id LIMIT ?",
      after,
      run_id,
      PAGE_ROWS,
    );
    const page: EventRow[] = [];
    let characters = 0;
    for (const row of rows) {
      const data = this.#parts.text(eventName(row.id), row.data);
      page.push({ ...row, data });
      characters += data.length;
      if (characters > PAGE_CHARACTERS) break;
    }
    return page;
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
