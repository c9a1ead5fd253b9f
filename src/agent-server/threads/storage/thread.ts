import type { ThreadSummary } from "../../../isolate/contract.ts";
import { digestText } from "../digest.ts";
import { insertRows } from "../log/insert.ts";
import type { Parts } from "../log/parts.ts";
import type {
  Interrupts,
  NewThread,
  RevisionRef,
  ThreadRecord,
  ThreadSnapshot,
} from "../records.ts";
import type { ThreadStatus } from "../runs.ts";
import { expiryOf, type Ttl } from "../ttl.ts";
import type { CopyHead } from "./copy.ts";
import {
  type DirectoryEntry,
  type StoredTtl,
  type ThreadHeader,
  type ThreadRow,
  toThreadRecord,
  withoutRun,
} from "./thread-rows.ts";

const VALUES = "thread values";
/** A temporary thread whose run ends sooner has no entry in the directory, and costs no write. */
const LIST_AFTER_MS = 1000;

/**
 * The row of the thread, cached. A transaction writes its changes as one statement at its end, and drops
 * the cache when it fails.
 */
export class StoredThread {
  readonly #sql: SqlStorage;
  readonly #parts: Parts;
  #cached: ThreadRow | null = null;
  #isNew = false;
  readonly #changed = new Set<keyof ThreadRow>();
  #digested: { at: string; digest: Record<string, unknown> } | null = null;

  constructor(sql: SqlStorage, parts: Parts) {
    this.#sql = sql;
    this.#parts = parts;
  }

  insert({ thread_id, deployment_id, workspace_id, metadata, temporary, ttl }: NewThread) {
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
      directory_sent: null,
      ttl: ttl ? JSON.stringify(ttl) : null,
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

  /** Drops the cache after a failed transaction: it may hold what was not written. */
  clearCache() {
    this.#cached = null;
    this.#isNew = false;
    this.#changed.clear();
  }

  get id(): string {
    return this.#row().thread_id;
  }

  /** Leaves out the values, which may be large. */
  outline(): Pick<ThreadRecord, "thread_id" | "status" | "metadata" | "config"> {
    const { thread_id, status, metadata, config } = this.#row();
    return { thread_id, status, metadata: JSON.parse(metadata), config: JSON.parse(config) };
  }

  interrupts(): Interrupts {
    return JSON.parse(this.#row().interrupts);
  }

  record(): ThreadRecord {
    return toThreadRecord(this.#row(), this.valuesText());
  }

  /** @returns `"too_large"` when the values have more characters; they are not parsed then */
  recordWithin(characters: number): ThreadRecord | "too_large" {
    const values = this.valuesText();
    return (values?.length ?? 0) > characters ? "too_large" : toThreadRecord(this.#row(), values);
  }

  /** @returns `null` unless the run of a temporary thread has ended */
  endedAt(): number | null {
    return this.#row().ended_at;
  }

  header(): ThreadHeader {
    const { thread_id, deployment_id, workspace_id, temporary, ended_at, revision } = this.#row();
    return {
      ...{ thread_id, deployment_id, workspace_id, ended_at },
      temporary: temporary === 1,
      revision: revision === null ? null : JSON.parse(revision),
    };
  }

  /** @returns JSON text, `null` before the first state */
  valuesText(): string | null {
    const { state_updated_at, values } = this.#row();
    return state_updated_at === null ? null : this.#parts.text(VALUES, values);
  }

  /** Later reads of the state use the graph of this revision. */
  startRun(revision: RevisionRef) {
    this.#change({ status: "busy", revision: JSON.stringify(revision) });
  }

  patch({ metadata, ttl }: { metadata?: Record<string, unknown>; ttl?: Ttl | null }) {
    this.#change({
      ...(metadata && { metadata: JSON.stringify(metadata) }),
      ...(ttl && { ttl: JSON.stringify(ttl) }),
    });
  }

  get ttl(): StoredTtl | null {
    const { ttl } = this.#row();
    return ttl === null ? null : JSON.parse(ttl);
  }

  /** @returns epoch milliseconds, `null` when the thread has no TTL or was pruned since its last change */
  expiresAt(): number | null {
    const { ttl } = this;
    const { updated_at } = this.#row();
    return ttl && ttl.done_at !== updated_at ? expiryOf(ttl, updated_at) : null;
  }

  markPruned() {
    const row = this.#row();
    if (row.ttl === null) return;
    row.ttl = JSON.stringify({ ...JSON.parse(row.ttl), done_at: row.updated_at });
    this.#changed.add("ttl");
  }

  /** Makes a complete copy visible. */
  applyCopy({ metadata, config, status, interrupts, values, revision }: CopyHead) {
    this.#change({
      metadata: JSON.stringify(metadata),
      config: JSON.stringify(config),
      interrupts: JSON.stringify(interrupts),
      revision: revision && JSON.stringify(revision),
      // The copy has no runs: `recover` reads its status from the last checkpoint.
      status: status === "error" ? "idle" : status,
      temporary: 0,
      ended_at: null,
    });
    if (values === null) return;
    this.#change({
      values: this.#parts.put(VALUES, values),
      state_updated_at: new Date().toISOString(),
    });
  }

  /** Later runs inherit the graph and the config of this run. */
  assign(run: { metadata: Record<string, unknown>; config: ThreadRecord["config"] }) {
    const [metadata, config] = [JSON.stringify(run.metadata), JSON.stringify(run.config)];
    this.#change({ status: "busy", metadata, config });
  }

  /** Fields that `assign` and `startRun` change, for `restore`. */
  snapshot(): ThreadSnapshot {
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

  restore({ status, config, error, revision, ...snapshot }: ThreadSnapshot) {
    const metadata = withoutRun(this.outline().metadata, snapshot);
    this.#change({
      status,
      config: JSON.stringify(config),
      metadata: JSON.stringify(metadata),
      error: error && JSON.stringify(error),
      revision: revision && JSON.stringify(revision),
    });
  }

  /** Requests a new read of the status from the last checkpoint. */
  markBusy() {
    this.#change({ status: "busy" });
  }

  /** Sets the status after a run. Without a summary the values stay. */
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

  /** Whether the directory has an older entry. A temporary thread has one entry, while its run is under way. */
  isDirectoryStale(): boolean {
    const { temporary, ended_at, status, directory_seq, directory_sent } = this.#row();
    if (temporary === 0) return (directory_sent ?? 0) < directory_seq;
    return ended_at === null ? status === "busy" && !directory_sent : directory_sent !== null;
  }

  /** Whether the directory has, or may have, an entry. */
  get isInDirectory(): boolean {
    return this.#row().directory_sent !== null;
  }

  /** Earliest publication of a busy temporary thread. `null`: every change is published. */
  get directoryDueAt(): number | null {
    const { temporary, created_at } = this.#row();
    return temporary === 0 ? null : Date.parse(created_at) + LIST_AFTER_MS;
  }

  directoryEntry(): DirectoryEntry | null {
    if (!this.isDirectoryStale()) return null;
    const row = this.#row();
    const { thread_id, deployment_id, workspace_id, created_at, updated_at, state_updated_at } =
      row;
    return {
      ...{ thread_id, deployment_id, workspace_id, created_at, updated_at, state_updated_at },
      status: row.status,
      metadata: JSON.parse(row.metadata),
      digest: this.#digest(),
      seq: row.directory_seq,
      is_temporary: row.temporary === 1,
    };
  }

  // Values change less often than the directory entry.
  #digest(): Record<string, unknown> | null {
    const { state_updated_at } = this.#row();
    if (state_updated_at === null) return null;
    if (this.#digested?.at !== state_updated_at) {
      const digest = digestText(this.valuesText() ?? "{}");
      this.#digested = { at: state_updated_at, digest };
    }
    return this.#digested.digest;
  }

  markDirectorySent(seq: ThreadRow["directory_sent"]) {
    this.#row().directory_sent = seq;
    this.#changed.add("directory_sent");
  }

  #change(patch: Partial<ThreadRow>) {
    const row = this.#row();
    const updated_at = new Date().toISOString();
    const all = { ...patch, updated_at, directory_seq: row.directory_seq + 1 };
    Object.assign(row, all);
    for (const column of Object.keys(all)) this.#changed.add(column as keyof ThreadRow);
  }

  #row(): ThreadRow {
    this.#cached ??= this.#sql.exec<ThreadRow>("SELECT * FROM thread").one();
    return this.#cached;
  }
}
