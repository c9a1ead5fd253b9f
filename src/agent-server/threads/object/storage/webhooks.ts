import type { AgentUser } from "../../../../shared/context.ts";
import { Run } from "../../contract/requests/run-schema.ts";
import type { StoredRun } from "../../contract/stored-run.ts";
import type { ThreadTables } from "../log/lazy-tables.ts";
import type { Parts } from "../log/parts.ts";

export type PendingWebhook = {
  run_id: string;
  url: string;
  payload: string;
  /** User that a call to the agent's own app acts as. */
  user: AgentUser | null;
};

/** The outbox of webhooks. Each stays here until its delivery is recorded in D1. */
export class Webhooks {
  readonly #sql: SqlStorage;
  readonly #tables: ThreadTables;
  readonly #parts: Parts;
  #hasPending: boolean | null = null;

  constructor(tables: ThreadTables, parts: Parts) {
    this.#sql = tables.sql;
    this.#tables = tables;
    this.#parts = parts;
  }

  add({ run_id, url, payload, user }: PendingWebhook) {
    const column = this.#parts.put(partName(run_id), payload);
    this.#tables.create("webhook_outbox");
    this.#sql.exec(
      "INSERT OR REPLACE INTO webhook_outbox (run_id, url, payload, user) VALUES (?, ?, ?, ?)",
      ...[run_id, url, column, user && JSON.stringify(user)],
    );
    this.#hasPending = true;
  }

  get hasPending(): boolean {
    this.#hasPending ??=
      this.#tables.has("webhook_outbox") &&
      this.#sql.exec("SELECT 1 FROM webhook_outbox LIMIT 1").toArray().length > 0;
    return this.#hasPending;
  }

  /** @returns the oldest webhook, `null` without one */
  next(): PendingWebhook | null {
    if (!this.hasPending) return null;
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
    this.#hasPending = null;
  }

  /** Skips the first read: the tables are empty. */
  startEmpty() {
    this.#hasPending = false;
  }

  /** Drops the cache after a failed transaction, whose changes it may hold. */
  clearCache() {
    this.#hasPending = null;
  }
}

function partName(run_id: string): string {
  return `webhook ${run_id}`;
}

/** Returns the JSON text of a payload without its time of sending. `values` is JSON text. */
export function toWebhookPayload(run: StoredRun, values: string | null): string {
  const { error, started_at, ended_at } = run;
  const shown = {
    ...Run.parse(run),
    run_started_at: started_at === null ? null : new Date(started_at).toISOString(),
    run_ended_at: ended_at === null ? null : new Date(ended_at).toISOString(),
    error: error && { error: error.error, message: error.message },
  };
  return `${JSON.stringify(shown).slice(0, -1)},"values":${values ?? "null"}}`;
}
