import type { ThreadSummary } from "../../../../isolate/contract.ts";
import { type JsonSize, jsonSizeOf } from "../../contract/json-text.ts";
import type {
  Interrupts,
  NewThread,
  RevisionRef,
  ThreadRecord,
  ThreadSnapshot,
} from "../../contract/records.ts";
import type { ThreadStatus } from "../../contract/run-decisions.ts";
import { expiryOf, type Ttl } from "../../contract/ttl.ts";
import type { CopyHead } from "../checkpoints/copy.ts";
import { type Parts, SHORT_BYTES } from "../log/parts.ts";
import { TraceMark } from "../log/trace-mark.ts";
import { CachedThreadRow } from "./cached-thread-row.ts";
import { ThreadListing } from "./listing.ts";
import {
  newThreadRow,
  type StoredTtl,
  type ThreadHeader,
  toThreadRecord,
  withoutRun,
} from "./thread-rows.ts";

const VALUES = "thread values";
const INTERRUPTS = "thread interrupts";
/** Value of the column `interrupts` when their text is in `parts`. */
const IN_PARTS = "";

/** `isStopped`: the newest run was cancelled, and no interrupt of the agent is pending. */
type Settled = { error?: ThreadRecord["error"]; isStopped?: boolean };

/** The thread itself: its status, metadata, config, values and TTL. */
export class StoredThread {
  readonly #parts: Parts;
  readonly #row: CachedThreadRow;
  readonly listing: ThreadListing;
  readonly traceMark: TraceMark;

  constructor(sql: SqlStorage, parts: Parts) {
    this.#parts = parts;
    this.#row = new CachedThreadRow(sql);
    this.listing = new ThreadListing(this.#row, () => this.valuesText());
    this.traceMark = new TraceMark(this.#row);
  }

  insert(thread: NewThread, directory_slot: number) {
    this.#row.insert(newThreadRow(thread, directory_slot));
    this.listing.startEmpty();
  }

  // The store calls these five around its transactions. `CachedThreadRow` explains them.
  flush() {
    this.#row.flush();
  }

  defer() {
    this.#row.defer();
  }

  dropDeferred() {
    this.#row.dropDeferred();
  }

  endDeferral() {
    this.#row.endDeferral();
  }

  clearCache() {
    this.#row.clear();
  }

  get exists(): boolean {
    return this.#row.exists;
  }

  get id(): string {
    return this.#row.get().thread_id;
  }

  /** Leaves out the values, which may be large. */
  outline(): Pick<ThreadRecord, "thread_id" | "status" | "metadata" | "config"> {
    const { thread_id, status, metadata, config } = this.#row.get();
    return { thread_id, status, metadata: JSON.parse(metadata), config: JSON.parse(config) };
  }

  /** Parses no values, which may be large. */
  failure(): Pick<ThreadRecord, "status" | "error"> {
    const { status, error } = this.#row.get();
    return { status, error: error === null ? null : JSON.parse(error) };
  }

  interrupts(): Interrupts {
    return JSON.parse(this.#interruptsText());
  }

  #interruptsText(): string {
    const { interrupts } = this.#row.get();
    return this.#parts.text(INTERRUPTS, interrupts === IN_PARTS ? null : interrupts);
  }

  #putInterrupts(text: string): string {
    return this.#parts.replace(INTERRUPTS, text, SHORT_BYTES) ?? IN_PARTS;
  }

  record(): ThreadRecord {
    const texts = { values: this.valuesText(), interrupts: this.#interruptsText() };
    return toThreadRecord(this.#row.get(), texts);
  }

  /** @returns `null` unless the run of a temporary thread has ended, or the thread is a copy that is not complete */
  endedAt(): number | null {
    return this.#row.get().ended_at;
  }

  header(): ThreadHeader {
    const { thread_id, deployment_id, workspace_id, temporary, ended_at, revision } =
      this.#row.get();
    return {
      ...{ thread_id, deployment_id, workspace_id, ended_at },
      temporary: temporary === 1,
      revision: revision === null ? null : JSON.parse(revision),
    };
  }

  /** Size of the texts that a record parses, without its error and TTL. */
  get recordSize(): JsonSize {
    const { metadata, config } = this.#row.get();
    return jsonSizeOf(this.valuesText() ?? "", this.#interruptsText(), metadata, config);
  }

  /** @returns JSON text, `null` before the first state */
  valuesText(): string | null {
    const { state_updated_at, values } = this.#row.get();
    return state_updated_at === null ? null : this.#parts.text(VALUES, values);
  }

  /** @returns epoch milliseconds, `null` before the first state */
  stateUpdatedAt(): number | null {
    const { state_updated_at } = this.#row.get();
    return state_updated_at === null ? null : Date.parse(state_updated_at);
  }

  /**
   * Later reads of the state use the graph of this revision. The row of the run has the revision until the thread's row
   * is written.
   */
  startRun(revision: RevisionRef) {
    this.#row.changeLater({ status: "busy", revision: JSON.stringify(revision) });
  }

  /** Replaces all metadata. Does not change a field that is missing or `null`. */
  patch({ metadata, ttl }: { metadata?: Record<string, unknown>; ttl?: Ttl | null }) {
    this.#row.change({
      ...(metadata && { metadata: JSON.stringify(metadata) }),
      ...(ttl && { ttl: JSON.stringify(ttl) }),
    });
  }

  get ttl(): StoredTtl | null {
    const { ttl } = this.#row.get();
    return ttl === null ? null : JSON.parse(ttl);
  }

  /** @returns epoch milliseconds, `null` when the thread has no TTL or was pruned since its last change */
  expiresAt(): number | null {
    const { ttl } = this;
    const { updated_at } = this.#row.get();
    return ttl && ttl.done_at !== updated_at ? expiryOf(ttl, updated_at) : null;
  }

  markPruned() {
    const row = this.#row.get();
    if (row.ttl === null) return;
    const ttl = JSON.stringify({ ...JSON.parse(row.ttl), done_at: row.updated_at });
    this.#row.set({ ttl });
  }

  /** Makes a complete copy visible. */
  applyCopy({ metadata, config, status, isStopped, interrupts, values, revision }: CopyHead) {
    this.#row.change({
      is_stopped: isStopped ? 1 : 0,
      metadata: JSON.stringify(metadata),
      config: JSON.stringify(config),
      interrupts: this.#putInterrupts(JSON.stringify(interrupts)),
      revision: revision && JSON.stringify(revision),
      // The copy has no run that failed. `recover` reads the status of a busy copy from its last checkpoint.
      status: status === "error" ? "idle" : status,
      temporary: 0,
      ended_at: null,
    });
    if (values === null) return;
    this.#row.change({
      values: this.#parts.replace(VALUES, values, SHORT_BYTES),
      state_updated_at: new Date().toISOString(),
    });
  }

  /**
   * Sets the metadata, which names graph and assistant, and the config of a run, for later reads and runs. The run's row has
   * them until the thread's is written.
   */
  assign(run: { metadata: Record<string, unknown>; config: ThreadRecord["config"] }) {
    const [metadata, config] = [JSON.stringify(run.metadata), JSON.stringify(run.config)];
    this.#row.changeLater({ status: "busy", metadata, config });
  }

  /** Whether a change of the thread is only in memory: each one increments `directory_seq`, which is then not stored. */
  get hasUnwrittenStart(): boolean {
    return !this.#row.isStored("directory_seq");
  }

  /** Writes the start of a run in this transaction. */
  writeStart() {
    if (this.hasUnwrittenStart) this.#row.set({});
  }

  /** Returns the fields that a run changes beside the state, for `restore`. */
  snapshot(): ThreadSnapshot {
    const { status, metadata, config, error, revision } = this.#row.get();
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
    this.#row.change({
      status,
      config: JSON.stringify(config),
      metadata: JSON.stringify(metadata),
      error: error && JSON.stringify(error),
      revision: revision && JSON.stringify(revision),
    });
  }

  /** Makes `Settling` read the status from the last checkpoint. */
  markBusy() {
    this.#row.change({ status: "busy" });
  }

  /** Whether the newest run was cancelled, and no interrupt of the agent is pending. */
  get isStopped(): boolean {
    return this.#row.get().is_stopped === 1;
  }

  /** Sets the status after a run or an update of the state. Without a summary the values and interrupts stay. */
  settle(
    status: ThreadStatus,
    summary: ThreadSummary | null,
    { error = null, isStopped = false }: Settled = {},
  ) {
    const is_stopped = isStopped ? 1 : 0;
    this.#row.change({ status, is_stopped, error: error && JSON.stringify(error) });
    if (!summary) return;
    this.#row.change({
      values: this.#parts.replace(VALUES, summary.values, SHORT_BYTES),
      interrupts: this.#putInterrupts(summary.interrupts),
      state_updated_at: new Date().toISOString(),
    });
  }

  markEnded() {
    this.#row.change({ ended_at: Date.now() });
  }
}
