import { log } from "../../../shared/log.ts";
import { forgetThread, recordThread } from "../directory/directory.ts";
import type { ThreadStore } from "../storage/store.ts";
import type { ThreadHeader } from "../storage/thread-rows.ts";

/** Interval of publications while runs are in flight. Other changes are published at once. */
const BUSY_INTERVAL_MS = 300;

/** Publishes the thread to the directory, and retries by alarm. */
export class DirectoryOutbox {
  readonly #env: Env;
  readonly #store: ThreadStore;
  readonly #retryMs: number;
  readonly #onPublished: () => void;
  #publishing: Promise<void> | null = null;
  #retryAfter = 0;
  #publishedAt = 0;
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(
    env: Env,
    store: ThreadStore,
    { retry_ms, onPublished }: { retry_ms: number; onPublished: () => void },
  ) {
    this.#env = env;
    this.#store = store;
    this.#retryMs = retry_ms;
    this.#onPublished = onPublished;
  }

  /** Time of the next retry, `null` when the directory is current. */
  get wake(): number | null {
    return this.#store.thread.isDirectoryStale() ? Date.now() + this.#retryMs : null;
  }

  /** Resolves when the directory is current or unavailable. The alarm retries. */
  async publish(): Promise<void> {
    while (this.#store.exists && this.#mayPublish()) {
      this.#publishing ??= this.#publishEntry().finally(() => {
        this.#publishing = null;
      });
      await this.#publishing;
    }
  }

  schedulePublish() {
    if (this.#publishing || !this.#mayPublish()) return;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.publish(), Math.max(this.#dueAt() - Date.now(), 0));
  }

  #dueAt(): number {
    const { thread } = this.#store;
    if (thread.outline().status !== "busy") return 0;
    return thread.directoryDueAt ?? this.#publishedAt + BUSY_INTERVAL_MS;
  }

  #mayPublish(): boolean {
    return Date.now() >= this.#retryAfter && this.#store.thread.isDirectoryStale();
  }

  async #publishEntry() {
    const header = this.#store.thread.header();
    try {
      if (header.ended_at === null) await this.#record();
      else await this.#remove(header);
    } catch (error) {
      log.error("directory_write_failed", error, { thread_id: header.thread_id });
      this.#retryAfter = Date.now() + this.#retryMs;
    }
    this.#publishedAt = Date.now();
    this.#onPublished();
  }

  async #record() {
    const entry = this.#store.thread.directoryEntry();
    if (!entry) return;
    // Marked before the row is written: after a crash in between, no row of a temporary thread is left.
    if (entry.is_temporary) this.#markSent(0);
    await recordThread(this.#env, entry);
    // A deletion may have overtaken this write.
    if (this.#store.exists) this.#markSent(entry.seq);
    else await forgetThread(this.#env, entry);
  }

  async #remove(header: ThreadHeader) {
    await forgetThread(this.#env, header);
    if (this.#store.exists) this.#markSent(null);
  }

  #markSent(seq: number | null) {
    this.#store.transaction(() => this.#store.thread.markDirectorySent(seq));
  }
}
