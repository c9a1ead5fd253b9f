import type { Filters } from "../../../shared/filters.ts";
import { isLarger, type JsonSize } from "../contract/json-text.ts";
import type { NewThread, ThreadRecord, ThreadResult } from "../contract/records.ts";
import type { RunStatus } from "../contract/run-decisions.ts";
import { isKeepable } from "../contract/sizes.ts";
import type { ThreadStreamChoice } from "../contract/thread-stream-modes.ts";
import type { Ttl } from "../contract/ttl.ts";
import type {
  CopiedPage,
  CopiedTable,
  CopyBounds,
  CopyCursor,
  CopyHead,
} from "./checkpoints/copy.ts";
import { copyHistory, type HistorySource, headOf } from "./copying.ts";
import type { LiveThread } from "./live-thread.ts";
import type { RunReaders } from "./run-readers.ts";

type OpenSource = (
  deployment_id: string,
  thread_id: string,
  filters: Filters | null,
) => HistorySource;

type FoundRecord = ThreadResult<{ thread: ThreadRecord; recent_runs: RunStatus[] }>;

export class ThreadMethods {
  readonly #thread: LiveThread;
  readonly #readers: RunReaders;
  readonly #openSource: OpenSource;

  constructor(thread: LiveThread, readers: RunReaders, openSource: OpenSource) {
    this.#thread = thread;
    this.#readers = readers;
    this.#openSource = openSource;
  }

  /** @returns `null` when the thread already exists */
  async createThread(thread: NewThread): Promise<ThreadRecord | null> {
    if (this.#thread.open()) return null;
    this.#thread.create(thread);
    return this.#thread.publishRecord();
  }

  async getThread(): Promise<ThreadRecord | null> {
    return this.#thread.openVisible() ? this.#thread.store.thread.record() : null;
  }

  /**
   * `size`: limit of the record, which is not parsed when it is larger. `recent_runs`: number of statuses to return.
   */
  async getThreadWithin(size: JsonSize, recent_runs: number): Promise<FoundRecord> {
    if (!this.#thread.openVisible()) return { ok: false, refusal: "thread_missing" };
    const { thread, runs } = this.#thread.store;
    if (isLarger(thread.recordSize, size)) return { ok: false, refusal: "too_large" };
    return { ok: true, thread: thread.record(), recent_runs: runs.recentStatuses(recent_runs) };
  }

  async patchThread(
    change: Record<string, unknown>,
    ttl: Ttl | null = null,
  ): Promise<ThreadResult<{ thread: ThreadRecord }>> {
    if (!this.#thread.openVisible()) return { ok: false, refusal: "thread_missing" };
    const { thread } = this.#thread.store;
    const metadata = { ...thread.outline().metadata, ...change };
    if (!isKeepable(metadata)) return { ok: false, refusal: "too_large" };
    this.#thread.store.transaction(() => thread.patch({ metadata, ttl }));
    return { ok: true, thread: await this.#thread.publishRecord() };
  }

  /** @returns `false` when the thread does not exist or a run is in flight */
  async pruneThread(): Promise<boolean> {
    return this.#thread.openVisible() && this.#thread.alarm.prune();
  }

  /** Fills this thread, which is new, with the history of another. @returns `null` when the source does not exist */
  async copyThread(
    source_id: string,
    thread: NewThread,
    filters: Filters | null = null,
  ): Promise<ThreadRecord | null> {
    this.#thread.create({ ...thread, temporary: true });
    const { store } = this.#thread;
    store.transaction(() => store.thread.markEnded());
    // Sets the alarm, which deletes a copy that a failure interrupts.
    this.#thread.changed();
    const source = this.#openSource(thread.deployment_id, source_id, filters);
    if (!(await copyHistory(store, source, thread.metadata))) {
      await this.#thread.alarm.deleteAll(store.thread.header());
      return null;
    }
    this.#thread.loop.recover();
    return this.#thread.publishRecord();
  }

  async exportHead(): Promise<CopyHead | null> {
    return this.#thread.openVisible() ? headOf(this.#thread.store) : null;
  }

  async exportPage(
    table: CopiedTable,
    after: CopyCursor | null,
    bounds: CopyBounds,
  ): Promise<CopiedPage | "outdated" | null> {
    return this.#thread.openVisible() ? this.#thread.store.copies.page(table, after, bounds) : null;
  }

  /** @returns `null` when the thread does not exist */
  async followThread(choice: ThreadStreamChoice): Promise<ReadableStream | null> {
    if (!this.#thread.openVisible()) return null;
    return this.#readers.threadEvents(choice);
  }

  async deleteThread(): Promise<boolean> {
    return this.#thread.delete();
  }
}
