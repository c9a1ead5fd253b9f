import { log } from "../../../shared/log.ts";
import { forgetThread, recordThread } from "../directory/directory.ts";
import type { ThreadStore } from "../storage/store.ts";
import type { ThreadHeader } from "../storage/thread-rows.ts";

/** While runs are under way the directory hears of them this often; of their end, and of the rest, at once. */
const TELL_PAUSE_MS = 300;

/** Tells the directory how the thread stands: soon, and by alarm until it has heard. */
export class DirectoryOutbox {
  readonly #env: Env;
  readonly #store: ThreadStore;
  readonly #retry_ms: number;
  readonly #onTold: () => void;
  #publishing: Promise<void> | null = null;
  #after = 0;
  #told_at = 0;
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(
    env: Env,
    store: ThreadStore,
    { retry_ms, onTold }: { retry_ms: number; onTold: () => void },
  ) {
    this.#env = env;
    this.#store = store;
    this.#retry_ms = retry_ms;
    this.#onTold = onTold;
  }

  /** When the alarm should look again; null: nothing waits. */
  get wake(): number | null {
    return this.#store.thread.hasNews() ? Date.now() + this.#retry_ms : null;
  }

  /** Resolves when it has heard all or could not be reached; then the alarm tries again. */
  async publish(): Promise<void> {
    while (this.#store.exists && this.#mayPublish()) {
      this.#publishing ??= this.#tell().finally(() => {
        this.#publishing = null;
      });
      await this.#publishing;
    }
  }

  publishSoon() {
    if (this.#publishing || !this.#mayPublish()) return;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.publish(), Math.max(this.#dueAt() - Date.now(), 0));
  }

  #dueAt(): number {
    const { thread } = this.#store;
    if (thread.outline().status !== "busy") return 0;
    return thread.listedAt ?? this.#told_at + TELL_PAUSE_MS;
  }

  #mayPublish(): boolean {
    return Date.now() >= this.#after && this.#store.thread.hasNews();
  }

  async #tell() {
    const place = this.#store.thread.header();
    try {
      if (place.ended_at === null) await this.#record();
      else await this.#remove(place);
    } catch (error) {
      log.error("directory_write_failed", error, { thread_id: place.thread_id });
      this.#after = Date.now() + this.#retry_ms;
    }
    this.#told_at = Date.now();
    this.#onTold();
  }

  async #record() {
    const entry = this.#store.thread.directoryEntry();
    if (!entry) return;
    // Marked before the row is written: after a crash in between, no row of a temporary thread is left.
    if (entry.is_temporary) this.#markSent(0);
    await recordThread(this.#env, entry);
    // A deletion may have passed this write on its way.
    if (this.#store.exists) this.#markSent(entry.seq);
    else await forgetThread(this.#env, entry);
  }

  async #remove(place: ThreadHeader) {
    await forgetThread(this.#env, place);
    if (this.#store.exists) this.#markSent(null);
  }

  #markSent(seq: number | null) {
    this.#store.transaction(() => this.#store.thread.markDirectorySent(seq));
  }
}
