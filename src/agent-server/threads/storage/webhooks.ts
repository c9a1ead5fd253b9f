import type { AgentUser } from "../../../shared/context.ts";
import type { Parts } from "../log/parts.ts";

export type WaitingWebhook = {
  run_id: string;
  url: string;
  payload: string;
  /** As whom of the agent's users its app is told. */
  user: AgentUser | null;
};

/** What the webhooks of runs that are over are to be told, until the queue has it. */
export class Webhooks {
  readonly #sql: SqlStorage;
  readonly #parts: Parts;
  #areWaiting: boolean | null = null;

  constructor(sql: SqlStorage, parts: Parts) {
    this.#sql = sql;
    this.#parts = parts;
  }

  add({ run_id, url, payload, user }: WaitingWebhook) {
    const kept = this.#parts.put(partName(run_id), payload);
    this.#sql.exec(
      "INSERT OR REPLACE INTO webhook_outbox (run_id, url, payload, user) VALUES (?, ?, ?, ?)",
      ...[run_id, url, kept, user && JSON.stringify(user)],
    );
    this.#areWaiting = true;
  }

  get areWaiting(): boolean {
    this.#areWaiting ??=
      this.#sql
        .exec<{ waiting: number }>("SELECT EXISTS(SELECT 1 FROM webhook_outbox) AS waiting")
        .one().waiting === 1;
    return this.#areWaiting;
  }

  /** The next of them; null: none waits. */
  next(): WaitingWebhook | null {
    const [row] = this.#sql
      .exec<{ run_id: string; url: string; payload: string | null; user: string | null }>(
        "SELECT run_id, url, payload, user FROM webhook_outbox ORDER BY rowid LIMIT 1",
      )
      .toArray();
    if (!row) return null;
    const payload = this.#parts.text(partName(row.run_id), row.payload);
    return { ...row, payload, user: row.user && JSON.parse(row.user) };
  }

  remove(run_id: string) {
    this.#parts.delete(partName(run_id));
    this.#sql.exec("DELETE FROM webhook_outbox WHERE run_id = ?", run_id);
    this.#areWaiting = null;
  }

  /** The tables are new: there is nothing to read. */
  startEmpty() {
    this.#areWaiting = false;
  }

  /** What is remembered may not have been written: read it again. */
  forget() {
    this.#areWaiting = null;
  }
}

function partName(run_id: string): string {
  return `webhook ${run_id}`;
}
