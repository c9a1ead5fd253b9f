import type { Op } from "../../../isolate/contract.ts";
import { isMigrated, migrate } from "../../../shared/storage/object-tables.ts";
import { sizeOfEvent } from "../boundary/ops.ts";
import { Events } from "../log/events.ts";
import { Parts } from "../log/parts.ts";
import { keepLatest } from "../log/prune.ts";
import type { NewThread, ThreadSnapshot } from "../records.ts";
import { Checkpoints } from "./checkpoints/checkpoints.ts";
import {
  type CopiedPage,
  type CopiedRow,
  type CopiedTable,
  type CopyBounds,
  copyBounds,
  copyPage,
  insertCopies,
} from "./copy.ts";
import { MIGRATIONS } from "./migrations.ts";
import { Runs } from "./runs.ts";
import { StoredThread } from "./thread.ts";
import { Traces } from "./traces.ts";
import { toWebhookPayload, Webhooks } from "./webhooks.ts";

/** The storage of one thread. Calls are synchronous. */
export class ThreadStore {
  readonly thread: StoredThread;
  readonly runs: Runs;
  readonly events: Events;
  readonly checkpoints: Checkpoints;
  readonly traces: Traces;
  readonly webhooks: Webhooks;
  readonly #storage: DurableObjectStorage;

  #exists: boolean;

  constructor(storage: DurableObjectStorage) {
    const parts = new Parts(storage.sql);
    this.#storage = storage;
    this.#exists = isMigrated(storage);
    if (this.#exists) migrate(storage, MIGRATIONS);
    this.thread = new StoredThread(storage.sql, parts);
    this.runs = new Runs(storage.sql, parts, this.thread);
    this.events = new Events(storage.sql, parts);
    this.checkpoints = new Checkpoints(storage.sql, parts);
    this.traces = new Traces(storage.sql, parts, this.runs);
    this.webhooks = new Webhooks(storage.sql, parts);
  }

  get exists(): boolean {
    return this.#exists;
  }

  create(thread: NewThread) {
    migrate(this.#storage, MIGRATIONS);
    this.#exists = true;
    this.transaction(() => this.thread.insert(thread));
    for (const part of [
      this.runs.queue,
      this.events,
      this.checkpoints,
      this.traces,
      this.webhooks,
    ]) {
      part.startEmpty();
    }
  }

  /** Writes the caches at the end, or drops them when the work fails. */
  transaction<T>(work: () => T): T {
    try {
      return this.#storage.transactionSync(() => {
        const result = work();
        this.thread.flush();
        this.runs.queue.flush();
        return result;
      });
    } catch (error) {
      this.#clearCaches();
      throw error;
    }
  }

  /** Resolves when everything written so far survives a crash. */
  durable(): Promise<void> {
    return this.#storage.sync();
  }

  /** Hides the thread at once; resolves when it is deleted from disk. */
  async deleteAll(): Promise<void> {
    this.#exists = false;
    this.#clearCaches();
    await this.#storage.deleteAll();
  }

  /**
   * Writes a batch of a run, or of a state update, and returns the characters of all events of the run.
   * The caller opens the transaction.
   */
  apply(run_id: string | null, ops: Op[]): number {
    this.checkpoints.put(
      run_id,
      ops.filter((op) => op.op === "checkpoint"),
    );
    const writes = ops.flatMap((op) =>
      op.op === "writes"
        ? op.writes.map((write) => ({ ...write, ns: op.ns, checkpoint_id: op.checkpoint_id }))
        : [],
    );
    this.checkpoints.putWrites(run_id, writes);
    if (run_id !== null) {
      this.traces.append(
        run_id,
        ops.filter((op) => op.op === "trace"),
      );
    }
    const events = ops.filter((op) => op.op === "event");
    if (run_id === null || events.length === 0) return 0;
    const first = this.events.append(run_id, events);
    const characters = events.reduce((sum, event) => sum + sizeOfEvent(event), 0);
    return this.runs.addEvents(run_id, first, characters);
  }

  keepLatest() {
    keepLatest(this.#storage.sql);
  }

  copyBounds(): CopyBounds {
    return copyBounds(this.#storage.sql);
  }

  copyPage(table: CopiedTable, after: number, upto: number): CopiedPage {
    return copyPage(this.#storage.sql, table, after, upto);
  }

  insertCopies(table: CopiedTable, rows: CopiedRow[]) {
    insertCopies(this.#storage.sql, table, rows, this.thread.id);
    this.checkpoints.clearCache();
  }

  /** Adds the webhook of a run that ends in this transaction to the outbox. */
  enqueueWebhook(run_id: string, { hasResult }: { hasResult: boolean }) {
    const url = this.runs.webhook(run_id);
    const run = url === null ? null : this.runs.get(run_id);
    if (url === null || run === null) return;
    const values = hasResult ? this.thread.valuesText() : null;
    const user = (url.startsWith("/") && run.created_by.user) || null;
    this.webhooks.add({ run_id, url, payload: toWebhookPayload(run, values), user });
  }

  /** Deletes a run with its events and checkpoints, and restores the thread. */
  undo(run_id: string) {
    const snapshot = this.runs.threadSnapshot(run_id);
    if (snapshot) this.#restoreThread(run_id, snapshot);
    this.checkpoints.deleteOf(run_id);
    if (this.events.deleteOf(run_id)) this.events.dropUnused();
    this.runs.delete(run_id);
  }

  /** Restores the thread, then assigns the next pending run to it. */
  #restoreThread(run_id: string, snapshot: ThreadSnapshot) {
    this.thread.restore(snapshot);
    const next = this.runs.queue.pending().find((run) => run.run_id !== run_id);
    if (!next) return;
    const { graph_id, assistant_id, kwargs } = next;
    const metadata = { ...this.thread.outline().metadata, graph_id, assistant_id };
    this.runs.setThreadSnapshot(next.run_id, snapshot);
    this.thread.assign({ metadata, config: kwargs.config });
  }

  #clearCaches() {
    this.thread.clearCache();
    this.runs.queue.clearCache();
    this.events.clearCache();
    this.checkpoints.clearCache();
    this.traces.clearCache();
    this.webhooks.clearCache();
  }
}
