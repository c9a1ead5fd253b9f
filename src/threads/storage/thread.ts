import type { ThreadSummary } from "../../isolate/contract.ts";
import type { Interrupts, NewThread, RevisionRef, ThreadBefore, ThreadRecord } from "../records.ts";
import type { ThreadStatus } from "../runs.ts";
import { insertRows } from "./insert.ts";
import type { Parts } from "./parts.ts";

type Row = {
  only: number;
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

/**
 * The one row of the thread, read once and kept. Changes gather until the end of their transaction,
 * which flushes them as one statement; a transaction that fails forgets them.
 */
export class Thread {
  readonly #sql: SqlStorage;
  readonly #parts: Parts;
  #cached: Row | null = null;
  #isNew = false;
  readonly #changed = new Set<keyof Row>();

  constructor(sql: SqlStorage, parts: Parts) {
    this.#sql = sql;
    this.#parts = parts;
  }

  insert({ thread_id, deployment_id, workspace_id, metadata, temporary }: NewThread) {
    const now = new Date().toISOString();
    this.#isNew = true;
    this.#cached = {
      only: 1,
      thread_id,
      deployment_id,
      workspace_id,
      created_at: now,
      updated_at: now,
      state_updated_at: null,
      status: "idle",
      metadata: JSON.stringify(metadata),
      config: "{}",
      values: null,
      interrupts: "{}",
      error: null,
      temporary: temporary ? 1 : 0,
      ended_at: null,
      revision: null,
      directory_seq: 1,
      // A temporary thread is in no directory: nothing is ever due for it.
      directory_sent: temporary ? Number.MAX_SAFE_INTEGER : 0,
    };
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

  /** What is remembered may not have been written: read it again. */
  forget() {
    this.#cached = null;
    this.#isNew = false;
    this.#changed.clear();
  }

  get id(): string {
    return this.#row().thread_id;
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
    const { thread_id, created_at, updated_at, state_updated_at, status } = row;
    return {
      ...{ thread_id, created_at, updated_at, state_updated_at, status },
      metadata: JSON.parse(row.metadata),
      config: JSON.parse(row.config),
      values: JSON.parse(this.valuesText() ?? "null"),
      interrupts: JSON.parse(row.interrupts),
      error: row.error === null ? null : JSON.parse(row.error),
    };
  }

  /** When the only run of a temporary thread was over; null for every other thread. */
  endedAt(): number | null {
    return this.#row().ended_at;
  }

  place(): ThreadPlace {
    const { thread_id, deployment_id, workspace_id, temporary, ended_at, revision } = this.#row();
    return {
      ...{ thread_id, deployment_id, workspace_id, ended_at },
      temporary: temporary === 1,
      revision: revision === null ? null : JSON.parse(revision),
    };
  }

  /** The values as JSON text; null before the first state. */
  valuesText(): string | null {
    const { state_updated_at, values } = this.#row();
    return state_updated_at === null ? null : this.#parts.text(VALUES, values);
  }

  /** A run begins: until it ends, and for reads after it, state is what its revision's graph says. */
  begin(revision: RevisionRef) {
    this.#change({ status: "busy", revision: JSON.stringify(revision) });
  }

  setMetadata(metadata: Record<string, unknown>) {
    this.#change({ metadata: JSON.stringify(metadata) });
  }

  /** A run takes the free thread: its graph and its config stay for those that follow. */
  take(run: { metadata: Record<string, unknown>; config: ThreadRecord["config"] }) {
    const [metadata, config] = [JSON.stringify(run.metadata), JSON.stringify(run.config)];
    this.#change({ status: "busy", metadata, config });
  }

  /** What `take` and `begin` will change, to be put back when the run is undone. */
  before(): ThreadBefore {
    const { status, metadata, config, error, revision } = this.#row();
    const { graph_id, assistant_id } = JSON.parse(metadata);
    return {
      status,
      config: JSON.parse(config),
      error: error && JSON.parse(error),
      served_by: { graph_id, assistant_id },
      revision: revision && JSON.parse(revision),
    };
  }

  restore({ status, config, error, revision, ...before }: ThreadBefore) {
    const metadata = withoutRun(this.outline().metadata, before);
    this.#change({
      status,
      config: JSON.stringify(config),
      metadata: JSON.stringify(metadata),
      error: error && JSON.stringify(error),
      revision: revision && JSON.stringify(revision),
    });
  }

  /** Where it stands is to be read again. */
  unsettle() {
    this.#change({ status: "busy" });
  }

  /** Where the thread stands after a run; without a summary its values stay as they were. */
  settle(status: ThreadStatus, summary: ThreadSummary | null, error: ThreadRecord["error"]) {
    this.#change({ status, error: error && JSON.stringify(error) });
    if (!summary) return;
    this.#change({
      values: this.#parts.put(VALUES, summary.values),
      interrupts: summary.interrupts,
      state_updated_at: new Date().toISOString(),
    });
  }

  markEnded() {
    this.#change({ ended_at: Date.now() });
  }

  /** Whether there is something that the directory has not heard yet. */
  hasNews(): boolean {
    const { directory_seq, directory_sent } = this.#row();
    return directory_sent < directory_seq;
  }

  directoryEntry(): DirectoryEntry | null {
    if (!this.hasNews()) return null;
    const row = this.#row();
    const { thread_id, deployment_id, workspace_id, created_at, updated_at, status } = row;
    const place = { thread_id, deployment_id, workspace_id, created_at, updated_at, status };
    return { ...place, metadata: JSON.parse(row.metadata), seq: row.directory_seq };
  }

  markDirectorySent(seq: number) {
    this.#row().directory_sent = Math.max(this.#row().directory_sent, seq);
    this.#changed.add("directory_sent");
  }

  // Every change is news for the directory.
  #change(patch: Partial<Row>) {
    const row = this.#row();
    const updated_at = new Date().toISOString();
    const all = { ...patch, updated_at, directory_seq: row.directory_seq + 1 };
    Object.assign(row, all);
    for (const column of Object.keys(all)) this.#changed.add(column as keyof Row);
  }

  #row(): Row {
    this.#cached ??= this.#sql.exec<Row>("SELECT * FROM thread").one();
    return this.#cached;
  }
}

/** Metadata as it was before a run took the thread; what clients changed meanwhile stays. */
export function withoutRun(
  { graph_id: _g, assistant_id: _a, ...metadata }: Record<string, unknown>,
  { served_by }: Pick<ThreadBefore, "served_by">,
): Record<string, unknown> {
  return { ...metadata, ...served_by };
}
