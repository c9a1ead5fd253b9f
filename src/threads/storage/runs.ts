import type { NewRun, RevisionRef, RunRecord } from "../records.ts";
import type { RunStatus } from "../runs.ts";
import type { Parts } from "./parts.ts";

type Row = {
  seq: number;
  run_id: string;
  assistant_id: string;
  graph_id: string;
  status: RunStatus;
  multitask_strategy: RunRecord["multitask_strategy"];
  metadata: string;
  kwargs: string | null;
  revision: string;
  created_at: string;
  updated_at: string;
  due_at: number;
  ended_at: number | null;
  attempt: number;
  first_event_id: number;
  event_bytes: number;
  error: string | null;
  cancel_reason: string | null;
};

/** A run as its thread keeps it: the public record and what only the thread cares about. */
export type StoredRun = RunRecord & {
  revision: RevisionRef;
  due_at: number;
  attempt: number;
  first_event_id: number;
};

export type RunQuery = { status?: RunStatus | undefined; limit: number; offset: number };

export class Runs {
  readonly #sql: SqlStorage;
  readonly #parts: Parts;

  constructor(sql: SqlStorage, parts: Parts) {
    this.#sql = sql;
    this.#parts = parts;
  }

  insert(run: NewRun, metadata: RunRecord["metadata"], kwargs: RunRecord["kwargs"]) {
    const due_at = Date.now() + run.after_seconds * 1000;
    const created_at = new Date(due_at).toISOString();
    this.#sql.exec(
      `INSERT INTO runs (run_id, assistant_id, graph_id, status, multitask_strategy, metadata,
         kwargs, revision, created_at, updated_at, due_at, attempt, first_event_id, event_bytes)
       VALUES (?, ?, ?, 'pending', ?, ?, ?, ?, ?, ?, ?, 0, 0, 0)`,
      run.run_id,
      run.assistant_id,
      run.graph_id,
      run.multitask_strategy,
      JSON.stringify(metadata),
      this.#parts.put(kwargsName(run.run_id), JSON.stringify(kwargs)),
      JSON.stringify(run.revision),
      created_at,
      created_at,
      due_at,
    );
  }

  get(run_id: string): StoredRun | null {
    const [row] = this.#sql.exec<Row>("SELECT * FROM runs WHERE run_id = ?", run_id).toArray();
    return row ? this.#toRun(row) : null;
  }

  /** Newest first. */
  list({ status, limit, offset }: RunQuery): StoredRun[] {
    return this.#sql
      .exec<Row>(
        `SELECT * FROM runs WHERE (?1 IS NULL OR status = ?1)
         ORDER BY created_at DESC, seq DESC LIMIT ?2 OFFSET ?3`,
        status ?? null,
        limit,
        offset,
      )
      .toArray()
      .map((row) => this.#toRun(row));
  }

  /** Null: no such run. */
  status(run_id: string): RunStatus | null {
    const [row] = this.#sql
      .exec<{ status: RunStatus }>("SELECT status FROM runs WHERE run_id = ?", run_id)
      .toArray();
    return row?.status ?? null;
  }

  inFlight(): string[] {
    return this.#sql
      .exec<{ run_id: string }>(
        "SELECT run_id FROM runs WHERE status IN ('pending', 'running') ORDER BY due_at, seq",
      )
      .toArray()
      .map(({ run_id }) => run_id);
  }

  running(): StoredRun | null {
    return this.#first("SELECT * FROM runs WHERE status = 'running' LIMIT 1");
  }

  nextPending(): StoredRun | null {
    return this.#first("SELECT * FROM runs WHERE status = 'pending' ORDER BY due_at, seq LIMIT 1");
  }

  /** When the next pending run is due, in epoch milliseconds. */
  nextDue(): number | null {
    const { due_at } = this.#sql
      .exec<{ due_at: number | null }>(
        "SELECT min(due_at) AS due_at FROM runs WHERE status = 'pending'",
      )
      .one();
    return due_at;
  }

  start(run_id: string, first_event_id: number) {
    this.#sql.exec(
      `UPDATE runs SET status = 'running', attempt = attempt + 1, updated_at = ?2,
         first_event_id = CASE attempt WHEN 0 THEN ?3 ELSE first_event_id END
       WHERE run_id = ?1`,
      run_id,
      new Date().toISOString(),
      first_event_id,
    );
  }

  end(run_id: string, status: RunStatus, error: RunRecord["error"] = null) {
    this.#sql.exec(
      "UPDATE runs SET status = ?2, updated_at = ?3, ended_at = ?4, error = ?5 WHERE run_id = ?1",
      run_id,
      status,
      new Date().toISOString(),
      Date.now(),
      error && JSON.stringify(error),
    );
  }

  setCancelReason(run_id: string, reason: string) {
    this.#sql.exec("UPDATE runs SET cancel_reason = ?2 WHERE run_id = ?1", run_id, reason);
  }

  /** Adds to what a run has said so far and returns the sum, in characters. */
  addEventBytes(run_id: string, bytes: number): number {
    const { event_bytes } = this.#sql
      .exec<{ event_bytes: number }>(
        "UPDATE runs SET event_bytes = event_bytes + ?2 WHERE run_id = ?1 RETURNING event_bytes",
        run_id,
        bytes,
      )
      .one();
    return event_bytes;
  }

  delete(run_id: string) {
    this.#parts.delete(kwargsName(run_id));
    this.#sql.exec("DELETE FROM runs WHERE run_id = ?", run_id);
  }

  /** Runs that ended before `time` and whose events are still kept. */
  endedBefore(time: number): string[] {
    return this.#sql
      .exec<{ run_id: string }>(
        "SELECT run_id FROM runs WHERE ended_at < ? AND event_bytes > 0 LIMIT 100",
        time,
      )
      .toArray()
      .map(({ run_id }) => run_id);
  }

  forgetEvents(run_id: string) {
    this.#sql.exec("UPDATE runs SET event_bytes = 0 WHERE run_id = ?", run_id);
  }

  oldestEnd(): number | null {
    const { ended_at } = this.#sql
      .exec<{ ended_at: number | null }>(
        "SELECT min(ended_at) AS ended_at FROM runs WHERE event_bytes > 0",
      )
      .one();
    return ended_at;
  }

  #first(query: string): StoredRun | null {
    const [row] = this.#sql.exec<Row>(query).toArray();
    return row ? this.#toRun(row) : null;
  }

  #toRun({ seq: _seq, ended_at: _ended, event_bytes: _bytes, ...row }: Row): StoredRun {
    const { thread_id } = this.#sql
      .exec<{ thread_id: string }>("SELECT thread_id FROM thread")
      .one();
    return {
      ...row,
      thread_id,
      metadata: JSON.parse(row.metadata),
      kwargs: JSON.parse(this.#parts.text(kwargsName(row.run_id), row.kwargs)),
      revision: JSON.parse(row.revision),
      error: row.error === null ? null : JSON.parse(row.error),
    };
  }
}

function kwargsName(run_id: string): string {
  return `kwargs ${run_id}`;
}
