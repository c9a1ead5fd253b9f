import type { EventRow } from "../../events/event-row.ts";
import { insertRows } from "./insert.ts";
import type { ThreadTables } from "./lazy-tables.ts";

/** Maximum characters of the events in a row. A thread that has a run with more events stays in its object. */
const MAX_CHARACTERS = 256 * 1024;

/** Id of the event that holds a result. Readers of events begin at id 0, so none receives it. */
const RESULT_ID = -1;

/** `readResult` returns JSON text for those who join the run. */
type EndedRun = { run_id: string; events: Iterable<EventRow>; readResult: () => string };
type EndedThread = { thread_id: string; metadata: string; ended_at: number };

/** Runs of the temporary threads that this object had before the present one, for readers that reconnect. */
export class EndedRuns {
  readonly #sql: SqlStorage;
  readonly #tables: ThreadTables;

  constructor(tables: ThreadTables) {
    this.#sql = tables.sql;
    this.#tables = tables;
  }

  /**
   * Adds the runs of a thread. The ids of their events count from 0. The caller opens the transaction.
   * @returns `false` when a run has more events than a row holds
   */
  add(runs: EndedRun[], { thread_id, metadata, ended_at }: EndedThread): boolean {
    const texts = runs.map(toText);
    if (texts.includes(null)) return false;
    this.#tables.create("ended_runs");
    insertRows(
      this.#sql,
      "INSERT OR REPLACE INTO ended_runs (run_id, thread_id, metadata, ended_at, events)",
      runs.map(({ run_id }, n) => [run_id, thread_id, metadata, ended_at, texts[n] ?? "[]"]),
    );
    return true;
  }

  /** Deletes the runs of threads that ended earlier. */
  deleteBefore(ended_at: number) {
    if (!this.#tables.has("ended_runs")) return;
    this.#sql.exec("DELETE FROM ended_runs WHERE ended_at < ?", ended_at);
  }

  hasSince(ended_at: number): boolean {
    if (!this.#tables.has("ended_runs")) return false;
    const sql = "SELECT 1 FROM ended_runs WHERE ended_at >= ? LIMIT 1";
    return this.#sql.exec(sql, ended_at).toArray().length > 0;
  }

  /** @returns `null` when the object had no such thread, or has deleted its runs */
  metadataOf(thread_id: string): Record<string, unknown> | null {
    if (!this.#tables.has("ended_runs")) return null;
    const [row] = this.#sql.exec<{ metadata: string }>(
      "SELECT metadata FROM ended_runs WHERE thread_id = ? LIMIT 1",
      thread_id,
    );
    return row ? JSON.parse(row.metadata) : null;
  }

  /** @returns `null` when the thread had no such run */
  eventsOf(thread_id: string, run_id: string): EventRow[] | null {
    if (!this.#tables.has("ended_runs")) return null;
    const [row] = this.#sql.exec<{ events: string }>(
      "SELECT events FROM ended_runs WHERE run_id = ? AND thread_id = ?",
      run_id,
      thread_id,
    );
    return row ? JSON.parse(row.events) : null;
  }
}

/**
 * Returns the result of an ended run. It is stored as an event only when it differs from the one that the last error or
 * values give.
 * @returns `null` when the events have neither
 */
export function resultOf(events: EventRow[]): string | null {
  const result = events.findLast(({ id }) => id === RESULT_ID);
  const error = events.findLast(({ event }) => event === "error");
  const values = events.findLast(({ event }) => event === "values");
  if (result) return result.data;
  return error ? `{"__error__":${error.data}}` : (values?.data ?? null);
}

/** Returns the JSON text of the events. @returns `null` when a row cannot hold them and the result */
function toText({ run_id, events, readResult }: EndedRun): string | null {
  const rows: EventRow[] = [];
  let characters = 0;
  for (const row of events) {
    characters += row.event.length + row.data.length;
    if (characters > MAX_CHARACTERS) return null;
    rows.push(row);
  }
  const result = readResult();
  if (resultOf(rows) === result) return JSON.stringify(rows);
  if (characters + result.length > MAX_CHARACTERS) return null;
  return JSON.stringify([
    ...rows,
    { id: RESULT_ID, run_id, event: "result", data: result, at: null },
  ]);
}
