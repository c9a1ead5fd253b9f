import type { ThreadTables } from "./lazy-tables.ts";
import { fits, type Parts } from "./parts.ts";

/** `part`: the name of a long text in `parts`, else `null`. */
type OutboxText = { seq: number; text: string; part: string | null };

/** Trace operations that no row of events carries. */
export class OutboxTable {
  readonly #sql: SqlStorage;
  readonly #tables: ThreadTables;
  readonly #parts: Parts;

  constructor(tables: ThreadTables, parts: Parts) {
    this.#sql = tables.sql;
    this.#tables = tables;
    this.#parts = parts;
  }

  get isEmpty(): boolean {
    if (!this.#exists) return true;
    return this.#sql.exec("SELECT 1 FROM trace_outbox LIMIT 1").toArray().length === 0;
  }

  get #exists(): boolean {
    return this.#tables.has("trace_outbox");
  }

  insert(text: string) {
    this.#tables.create("trace_outbox");
    const isSmall = fits(text);
    const { seq } = this.#sql
      .exec<{ seq: number }>(
        "INSERT INTO trace_outbox (ops) VALUES (?) RETURNING seq",
        isSmall ? text : null,
      )
      .one();
    if (!isSmall) this.#parts.insert(partName(seq), text);
  }

  *after(seq: number): Iterable<OutboxText> {
    if (!this.#exists) return;
    const found = this.#sql.exec<{ seq: number; ops: string | null }>(
      "SELECT seq, ops FROM trace_outbox WHERE seq > ? ORDER BY seq",
      seq,
    );
    for (const { seq, ops } of found) {
      const name = partName(seq);
      yield { seq, text: this.#parts.text(name, ops), part: ops === null ? name : null };
    }
  }

  deleteUpTo(seq: number, parts: string[]) {
    for (const name of parts) this.#parts.delete(name);
    if (seq > 0 && this.#exists) this.#sql.exec("DELETE FROM trace_outbox WHERE seq <= ?", seq);
  }
}

function partName(seq: number): string {
  return `trace ${seq}`;
}
