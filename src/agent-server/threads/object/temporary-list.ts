import { log } from "../../../shared/log.ts";
import { forgetTemporary, listTemporary } from "../directory/temporary-rows.ts";
import type { ThreadStore } from "../storage/store.ts";
import type { ThreadPlace } from "../storage/thread-rows.ts";

/** What is over sooner is told to nobody, and costs nothing. Below the lag that a cancellation waits for. */
const LIST_AFTER_MS = 1000;

/**
 * Lists a temporary thread while its run goes on, where that takes more than a moment, so that runs can be
 * cancelled without their ids. The mark in the thread comes before the row and goes after it: no row is left.
 */
export class TemporaryList {
  readonly #env: Env;
  readonly #store: ThreadStore;
  readonly #retry_ms: number;
  readonly #onTold: () => void;
  #telling: Promise<void> | null = null;
  #after = 0;
  #isTold = false;
  #timer: ReturnType<typeof setTimeout> | null = null;

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
    const { thread } = this.#store;
    return thread.isListed && thread.endedAt() !== null ? Date.now() + this.#retry_ms : null;
  }

  tellSoon() {
    const { thread } = this.#store;
    const { isListed } = thread;
    if (isListed === null || this.#telling || Date.now() < this.#after) return;
    const isOver = thread.endedAt() !== null;
    if (isOver) this.#wait(null);
    const isDue = isOver ? isListed : !this.#isTold;
    if (isDue && this.#timer === null) this.#wait(isOver ? 0 : LIST_AFTER_MS);
  }

  /** Resolves when a thread that is over is listed no more, or that could not be told; then the alarm tries again. */
  async settle(): Promise<void> {
    const { thread } = this.#store;
    if (thread.isListed && thread.endedAt() !== null) await this.#tell();
  }

  #wait(ms: number | null) {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = ms === null ? null : setTimeout(() => this.#tell(), ms);
  }

  #tell(): Promise<void> {
    this.#wait(null);
    this.#telling ??= this.#tellOnce()
      .catch((error: unknown) => {
        log.error("directory_write_failed", error);
        this.#after = Date.now() + this.#retry_ms;
      })
      .finally(() => {
        this.#telling = null;
        this.#onTold();
      });
    return this.#telling;
  }

  async #tellOnce(): Promise<void> {
    if (!this.#store.exists) return;
    const place = this.#store.thread.place();
    // A copy that has become a thread like any other is in the directory.
    if (!place.temporary) return;
    if (place.ended_at !== null) await this.#unlist(place);
    else if (this.#store.runs.inFlight().length > 0) await this.#list(place);
  }

  async #list({ deployment_id, thread_id, workspace_id }: ThreadPlace): Promise<void> {
    const { thread } = this.#store;
    const { metadata } = thread.outline();
    this.#store.transaction(() => thread.markListed(true));
    const listed_at = new Date().toISOString();
    const place = { deployment_id, thread_id, workspace_id };
    await listTemporary(this.#env, { ...place, metadata, listed_at });
    this.#isTold = true;
    // A deletion may have passed this write on its way.
    if (!this.#store.exists) await forgetTemporary(this.#env, place);
  }

  async #unlist(place: ThreadPlace): Promise<void> {
    await forgetTemporary(this.#env, place);
    this.#isTold = false;
    if (this.#store.exists) this.#store.transaction(() => this.#store.thread.markListed(false));
  }
}
