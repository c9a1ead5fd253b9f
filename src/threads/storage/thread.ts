import type { ThreadSummary } from "../../isolate/contract.ts";
import type { Interrupts, NewThread, RevisionRef, ThreadRecord } from "../records.ts";
import type { ThreadStatus } from "../runs.ts";
import type { Parts } from "./parts.ts";

type Row = {
  thread_id: string;
  deployment_id: string;
  workspace_id: string;
  created_at: string;
  updated_at: string;
  state_updated_at: string | null;
  status: ThreadStatus;
  metadata: string;
  config: string;
  values: string | null;
  interrupts: string;
  error: string | null;
  temporary: number;
  ended_at: number | null;
  revision: string | null;
  directory_seq: number;
  directory_sent: number;
};

export type ThreadPlace = {
  thread_id: string;
  deployment_id: string;
  workspace_id: string;
  temporary: boolean;
  /** When a temporary thread's run was over; its log lingers for readers that reconnect. */
  ended_at: number | null;
  revision: RevisionRef | null;
};

/** What the directory in D1 should say of the thread. */
export type DirectoryEntry = Pick<
  ThreadRecord,
  "thread_id" | "created_at" | "updated_at" | "status" | "metadata"
> & { deployment_id: string; workspace_id: string; seq: number };

const VALUES = "thread values";

/** The one row of the thread. Every change of it counts up the directory's sequence. */
export class Thread {
  readonly #sql: SqlStorage;
  readonly #parts: Parts;

  constructor(sql: SqlStorage, parts: Parts) {
    this.#sql = sql;
    this.#parts = parts;
  }

  insert({ thread_id, deployment_id, workspace_id, metadata, temporary }: NewThread) {
    const now = new Date().toISOString();
    this.#sql.exec(
      `INSERT INTO thread (only, thread_id, deployment_id, workspace_id, created_at, updated_at,
         status, metadata, config, interrupts, temporary, directory_seq, directory_sent)
       VALUES (1, ?, ?, ?, ?, ?, 'idle', ?, '{}', '{}', ?, 1, ?)`,
      thread_id,
      deployment_id,
      workspace_id,
      now,
      now,
      JSON.stringify(metadata),
      temporary ? 1 : 0,
      // A temporary thread is in no directory: nothing is ever due for it.
      temporary ? Number.MAX_SAFE_INTEGER : 0,
    );
  }

  /** Without the values, which may be large: what runs and reads begin with. */
  outline(): Pick<ThreadRecord, "thread_id" | "status" | "metadata" | "config"> {
    const { thread_id, status, metadata, config } = this.#row();
    return { thread_id, status, metadata: JSON.parse(metadata), config: JSON.parse(config) };
  }

  interrupts(): Interrupts {
    return JSON.parse(this.#row().interrupts);
  }

  record(): ThreadRecord {
    const row = this.#row();
    return {
      thread_id: row.thread_id,
      created_at: row.created_at,
      updated_at: row.updated_at,
      state_updated_at: row.state_updated_at,
      metadata: JSON.parse(row.metadata),
      status: row.status,
      config: JSON.parse(row.config),
      values: row.state_updated_at === null ? null : JSON.parse(this.#valuesOf(row)),
      interrupts: JSON.parse(row.interrupts),
      error: row.error === null ? null : JSON.parse(row.error),
    };
  }

  /** When the only run of a temporary thread was over; null for every other thread. */
  endedAt(): number | null {
    return this.#sql.exec<{ ended_at: number | null }>("SELECT ended_at FROM thread").one()
      .ended_at;
  }

  place(): ThreadPlace {
    const { thread_id, deployment_id, workspace_id, temporary, ended_at, revision } = this.#row();
    return {
      thread_id,
      deployment_id,
      workspace_id,
      temporary: temporary === 1,
      ended_at,
      revision: revision === null ? null : JSON.parse(revision),
    };
  }

  /** The values as JSON text; null before the first state. */
  valuesText(): string | null {
    const row = this.#row();
    return row.state_updated_at === null ? null : this.#valuesOf(row);
  }

  /** A run begins: until it ends, and for reads after it, state is what its revision's graph says. */
  begin(revision: RevisionRef) {
    this.#touch("status = 'busy', revision = ?", JSON.stringify(revision));
  }

  setMetadata(metadata: Record<string, unknown>) {
    this.#touch("metadata = ?", JSON.stringify(metadata));
  }

  /** A run takes the free thread: its graph and its config stay for those that follow. */
  take(run: { metadata: Record<string, unknown>; config: ThreadRecord["config"] }) {
    const [metadata, config] = [JSON.stringify(run.metadata), JSON.stringify(run.config)];
    this.#touch("status = 'busy', metadata = ?, config = ?", metadata, config);
  }

  /** Where the thread stands after a run; without a summary its values stay as they were. */
  settle(status: ThreadStatus, summary: ThreadSummary | null, error: ThreadRecord["error"]) {
    const errorText = error && JSON.stringify(error);
    if (!summary) return this.#touch("status = ?, error = ?", status, errorText);
    this.#touch(
      'status = ?, error = ?, "values" = ?, interrupts = ?, state_updated_at = ?',
      status,
      errorText,
      this.#parts.put(VALUES, summary.values),
      summary.interrupts,
      new Date().toISOString(),
    );
  }

  markEnded() {
    this.#sql.exec("UPDATE thread SET ended_at = ?", Date.now());
  }

  /** Whether there is something that the directory has not heard yet. */
  hasNews(): boolean {
    const { news } = this.#sql
      .exec<{ news: number }>("SELECT directory_sent < directory_seq AS news FROM thread")
      .one();
    return news === 1;
  }

  directoryEntry(): DirectoryEntry | null {
    if (!this.hasNews()) return null;
    const row = this.#row();
    const { thread_id, deployment_id, workspace_id, created_at, updated_at, status } = row;
    const place = { thread_id, deployment_id, workspace_id, created_at, updated_at, status };
    return { ...place, metadata: JSON.parse(row.metadata), seq: row.directory_seq };
  }

  markDirectorySent(seq: number) {
    this.#sql.exec("UPDATE thread SET directory_sent = max(directory_sent, ?)", seq);
  }

  #touch(assignments: string, ...values: (string | null)[]) {
    this.#sql.exec(
      `UPDATE thread SET ${assignments}, updated_at = ?, directory_seq = directory_seq + 1`,
      ...values,
      new Date().toISOString(),
    );
  }

  #row(): Row {
    return this.#sql.exec<Row>("SELECT * FROM thread").one();
  }

  #valuesOf(row: Row): string {
    return this.#parts.text(VALUES, row.values);
  }
}
