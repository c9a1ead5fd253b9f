import type { Op, RunOutcome } from "../../../../isolate/contract.ts";
import {
  clearTables,
  deletionOf,
  isMigrated,
  markDeleted,
  migrate,
} from "../../../../shared/storage/object-tables.ts";
import { slotOfNewThread } from "../../contract/directory-slots.ts";
import type { NewThread, ThreadSnapshot } from "../../contract/records.ts";
import { threadStatusAfter } from "../../contract/run-decisions.ts";
import type { StoredRun } from "../../contract/stored-run.ts";
import type { DirectoryKey } from "../../directory/entry.ts";
import type { EventRow } from "../../events/event-row.ts";
import { Checkpoints } from "../checkpoints/checkpoints.ts";
import { HistoryCopies } from "../checkpoints/copy.ts";
import { CarriedTraces } from "../log/carried-traces.ts";
import { EndedRuns } from "../log/ended-runs.ts";
import { Events } from "../log/events.ts";
import { type ThreadTables, threadTables } from "../log/lazy-tables.ts";
import { Parts } from "../log/parts.ts";
import { BatchLog, errorEvent, impliedEvent } from "./batch-log.ts";
import { MIGRATIONS, SCHEMA } from "./migrations.ts";
import { interruptsOf, statusOf } from "./outcomes.ts";
import { Runs } from "./runs.ts";
import { StoredThread } from "./thread.ts";
import { Traces } from "./traces.ts";
import { toWebhookPayload, Webhooks } from "./webhooks.ts";

/** The storage of one thread. Reads and changes are synchronous, except `deleteAll`. */
export class ThreadStore {
  readonly thread: StoredThread;
  readonly runs: Runs;
  readonly events: Events;
  readonly checkpoints: Checkpoints;
  readonly copies: HistoryCopies;
  readonly traces: Traces;
  readonly webhooks: Webhooks;
  /** Runs of the threads that the object had before this one. */
  readonly endedRuns: EndedRuns;
  readonly #storage: DurableObjectStorage;
  readonly #tables: ThreadTables;
  readonly #log: BatchLog;
  #exists: boolean;
  #deletedThreads = 0;
  #isDeferring = false;

  constructor(storage: DurableObjectStorage) {
    const tables = threadTables(storage.sql);
    const parts = new Parts(tables);
    this.#storage = storage;
    this.#tables = tables;
    const hasTables = isMigrated(storage);
    if (hasTables) migrate(storage, MIGRATIONS);
    this.thread = new StoredThread(storage.sql, parts);
    this.runs = new Runs(storage.sql, parts, this.thread);
    const carried = new CarriedTraces(storage.sql);
    this.events = new Events(tables, parts, carried, () => impliedEvent(this.runs.queue));
    this.checkpoints = new Checkpoints(tables, parts);
    this.copies = new HistoryCopies(tables, this.checkpoints);
    const mark = this.thread.traceMark;
    this.traces = new Traces(tables, parts, { runs: this.runs, mark, carried });
    this.webhooks = new Webhooks(tables, parts);
    this.endedRuns = new EndedRuns(tables);
    this.#exists = hasTables && this.thread.exists;
    this.#log = new BatchLog(this);
  }

  get exists(): boolean {
    return this.#exists;
  }

  /**
   * Number of threads that the object has had and deleted since it is in memory. Work that continues after an `await`
   * compares it: a thread with the same id may have replaced its own.
   */
  get deletedThreads(): number {
    return this.#deletedThreads;
  }

  /** An object may have another thread after a temporary one. */
  has(thread_id: string): boolean {
    return this.exists && this.thread.id === thread_id;
  }

  /** `canDefer`: the thread may be written later, with its first run, if the object has tables and no thread. */
  create(thread: NewThread, { canDefer } = { canDefer: false }) {
    // The directory may have the entry of a deleted thread with this id, which the new entry replaces.
    const deleted = deletionOf<Partial<DirectoryKey>>(this.#storage);
    const slot = slotOfNewThread(thread, deleted);
    const isDeferred = canDefer && this.isVacant;
    if (!this.isVacant) this.#tables.startEmpty();
    migrate(this.#storage, MIGRATIONS, SCHEMA);
    for (const table of this.#cachedTables) table.startEmpty();
    const insert = () => this.thread.insert(thread, slot);
    if (isDeferred) {
      insert();
      this.thread.defer();
      this.#isDeferring = true;
    } else {
      this.transaction(insert);
    }
    this.#exists = true;
  }

  /** Whether the object has tables of earlier threads, and no thread. */
  get isVacant(): boolean {
    return !this.#exists && isMigrated(this.#storage);
  }

  /**
   * Moves the runs of a thread that has ended to `ended_runs`, for readers that reconnect. Deletes the rest of the
   * thread, so that the object can have another one.
   * @returns `false` when a run has more events than a row of `ended_runs` holds
   */
  vacate(ended_at: number, resultOf: (run_id: string) => string): boolean {
    const { thread_id, metadata } = this.thread.outline();
    const ended = { thread_id, ended_at, metadata: JSON.stringify(metadata) };
    const isKept = this.#storage.transactionSync(() => {
      const runs = this.runs.ids().map((run_id) => {
        return { run_id, events: this.#eventsOf(run_id), readResult: () => resultOf(run_id) };
      });
      if (!this.endedRuns.add(runs, ended)) return false;
      clearTables(this.#storage.sql, ["ended_runs"]);
      return true;
    });
    if (!isKept) return false;
    this.#exists = false;
    this.#deletedThreads += 1;
    this.#clearCaches();
    return true;
  }

  /**
   * Deletes the data of an ended thread while readers of earlier ones may reconnect: keeps `ended_runs`, and the thread's row,
   * which is marked as ended.
   */
  clearEnded() {
    this.#storage.transactionSync(() => {
      clearTables(this.#storage.sql, ["ended_runs", "thread"]);
      for (const table of this.#cachedTables) table.startEmpty();
      this.thread.markEnded();
      this.thread.flush();
    });
    this.thread.endDeferral();
  }

  /** Yields the events of a run, with ids that count from 0. */
  *#eventsOf(run_id: string): Iterable<EventRow> {
    const first = this.runs.firstEvent(run_id);
    if (first === null) return;
    for (let after = first - 1; ; ) {
      const page = this.events.page(run_id, after);
      if (page.length === 0) return;
      for (const row of page) yield { ...row, id: row.id - first };
      after = page.at(-1)?.id ?? after;
    }
  }

  /** Writes the caches at the end, or drops them when the work fails. */
  transaction<T>(work: () => T): T {
    return this.#clearingOnError(() => {
      const done = this.#storage.transactionSync(() => {
        if (this.#exists) void this.events.implied;
        const result = work();
        this.events.flush((run_id) => this.runs.queue.row(run_id)?.status === "running");
        this.thread.flush();
        this.runs.queue.flush();
        return result;
      });
      this.#endDeferral();
      return done;
    });
  }

  /**
   * Accepts a run without a write when no other is in flight. The next transaction, or `writeDeferred`, writes it. A
   * crash before that loses the run, so nothing may be sent about it until then.
   */
  defer(accept: () => void) {
    this.#clearingOnError(() => {
      accept();
      this.thread.defer();
      const run = this.runs.queue.defer();
      this.#isDeferring = true;
      // Large kwargs were written to `parts` at once, so their run is written, too.
      if (run?.kwargs === null) this.writeDeferred();
    });
  }

  /** Whether a run, or its thread, is not written. */
  get isDeferring(): boolean {
    return this.#isDeferring;
  }

  /**
   * Writes a deferred run, and the thread that was deferred with it. Drops them when storage refuses the write.
   * @throws the error of storage
   */
  writeDeferred() {
    if (!this.#isDeferring) return;
    try {
      this.transaction(() => {});
    } catch (error) {
      this.thread.dropDeferred();
      this.#endDeferral();
      this.#clearCaches();
      this.#exists = this.thread.exists;
      throw error;
    }
  }

  #endDeferral() {
    this.#isDeferring = false;
    for (const table of [this.thread, this.runs.queue]) table.endDeferral();
  }

  #clearingOnError<T>(work: () => T): T {
    try {
      return work();
    } catch (error) {
      this.#clearCaches();
      throw error;
    }
  }

  /** Resolves when everything written so far survives a crash. */
  durable(): Promise<void> {
    return this.#storage.sync();
  }

  /** Marks the thread as deleted, and keeps the key of its directory entry for the deletion of the entry. */
  markDeleted() {
    markDeleted(this.#storage, this.thread.listing.key);
    this.#exists = false;
    this.#deletedThreads += 1;
    this.#clearCaches();
  }

  /** Hides the thread at once. Resolves when all storage of the object is deleted. */
  async deleteAll(): Promise<void> {
    this.#exists = false;
    this.#deletedThreads += 1;
    this.#clearCaches();
    await this.#storage.deleteAll();
  }

  /**
   * Writes a batch of a run, or of a state update. Returns the characters of all events of the run, 0 for a batch
   * without events. The caller opens the transaction.
   */
  apply(run_id: string | null, ops: Op[]): number {
    const { hasRoot } = this.checkpoints.apply(run_id, ops);
    if (run_id === null) return 0;
    // Only losses without a checkpoint between them count: see `afterLoss`.
    if (hasRoot) this.runs.queue.setLosses(run_id, 0);
    return this.#log.append(run_id, ops);
  }

  /** Adds the first event of an attempt. The caller opens the transaction. */
  beginAttempt(run: StoredRun) {
    this.#log.begin(run);
  }

  /**
   * Ends a run with its last batch, settles the thread and enqueues the webhook. The caller opens the
   * transaction.
   */
  endRun({ run_id }: StoredRun, outcome: RunOutcome) {
    const { ops, failure, summary } = outcome;
    this.apply(run_id, failure ? [...ops, errorEvent(failure)] : ops);
    this.runs.end(run_id, statusOf(outcome), failure, interruptsOf(outcome));
    const hasWaiting = !this.runs.queue.isEmpty;
    const result = { failed: failure !== null, next: summary?.next ?? [] };
    this.thread.settle(threadStatusAfter(result, hasWaiting), summary, { error: failure });
    this.enqueueWebhook(run_id, { hasResult: true });
    // A temporary thread ends with the last of its runs.
    if (this.thread.header().temporary && !hasWaiting) this.thread.markEnded();
  }

  /** Adds the webhook of a run that ends in this transaction to the outbox, if the run has one. */
  enqueueWebhook(run_id: string, { hasResult }: { hasResult: boolean }) {
    const url = this.runs.webhook(run_id);
    const run = url === null ? null : this.runs.get(run_id);
    if (url === null || run === null) return;
    const payload = toWebhookPayload(run, hasResult ? this.thread.valuesText() : null);
    const isOfAgent = url.startsWith("/");
    const user = (isOfAgent && run.created_by.user) || null;
    this.webhooks.add({ run_id, url, payload, user });
  }

  /**
   * Deletes a run with its events and checkpoints. Restores the thread, if the run has changed it and has not ended.
   */
  undo(run_id: string) {
    const snapshot = this.runs.threadSnapshot(run_id);
    if (snapshot) this.#restoreThread(run_id, snapshot);
    // A run that never started has no history, and a search for it reads whole tables.
    if (this.runs.queue.row(run_id)?.attempt !== 0) this.#deleteHistoryOf(run_id);
    this.runs.delete(run_id);
  }

  #deleteHistoryOf(run_id: string) {
    this.checkpoints.deleteOf(run_id, this.runs.queue.running());
    // The traces of the run are still delivered.
    this.traces.keepOf(run_id);
    if (this.events.deleteOf(run_id)) this.events.dropUnused();
  }

  /**
   * Restores the thread, then assigns it to the next pending run. That run takes the snapshot, so that its undo
   * restores the same.
   */
  #restoreThread(run_id: string, snapshot: ThreadSnapshot) {
    this.thread.restore(snapshot);
    const next = this.runs.queue.nextPending(run_id);
    if (!next) return;
    const { graph_id, assistant_id, kwargs } = next;
    const metadata = { ...this.thread.outline().metadata, graph_id, assistant_id };
    this.runs.setThreadSnapshot(next.run_id, snapshot);
    this.thread.assign({ metadata, config: kwargs.config });
  }

  /** Tables with a cache, without that of the thread. */
  get #cachedTables() {
    const { runs, events, checkpoints, traces, webhooks } = this;
    return [runs.queue, events, checkpoints, traces, webhooks];
  }

  #clearCaches() {
    for (const table of [this.thread, this.#tables, ...this.#cachedTables]) table.clearCache();
  }
}
