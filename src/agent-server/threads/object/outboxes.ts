import { log } from "../../../shared/log.ts";
import { Outbox } from "../../../shared/work/outbox.ts";
import { enqueueWebhook } from "../../webhooks/service.ts";
import type { LateCancellation } from "../contract/records.ts";
import type { DirectoryEntry } from "../directory/entry.ts";
import {
  forgetThread,
  type Publication,
  publishEntry,
  publishEntryNow,
  publishRemoval,
} from "../directory/publication.ts";
import type { ThreadStore } from "./storage/store.ts";
import { deliver } from "./trace-delivery.ts";

/**
 * Delay of a publication while the thread is busy, or while a caller publishes. A shorter run is published at its end
 * only. A temporary thread has `listing.dueAt` instead.
 */
const INTERVAL_MS = 300;
/** Delay that batches trace operations. */
const TRACE_DELAY_MS = 300;
const WEBHOOK_RETRY_MS = 10_000;

type Outboxes = {
  env: Env;
  store: ThreadStore;
  kv: SyncKvStorage;
  retry_ms: number;
  onFlushed: () => void;
  onCancelled: (cancellations: LateCancellation[]) => void;
};

function failuresOf(kv: SyncKvStorage, outbox: string) {
  const key = `failures/${outbox}`;
  return {
    get: () => kv.get<number>(key) ?? 0,
    set: (count: number) => void (count === 0 ? kv.delete(key) : kv.put(key, count)),
  };
}

/** Publishes the thread to the directory: with other threads of the isolate, or at once for a caller that waits. */
export class DirectoryPublisher {
  readonly outbox: Outbox;
  readonly #env: Env;
  readonly #store: ThreadStore;
  readonly #onCancelled: Outboxes["onCancelled"];
  #callers = 0;

  constructor({ env, store, kv, retry_ms, onFlushed, onCancelled }: Outboxes) {
    this.#env = env;
    this.#store = store;
    this.#onCancelled = onCancelled;
    this.outbox = new Outbox({
      retry_ms,
      failures: failuresOf(kv, "directory"),
      hasPending: () => this.#isStale(),
      dueAt: () => this.#dueAt(),
      deliver: () => this.#update((entry) => publishEntry(env, entry)),
      onFailed: (error) => log.error("directory_write_failed", error),
      onFlushed,
    });
  }

  #isStale(): boolean {
    return this.#store.exists && this.#store.thread.listing.isStale;
  }

  #dueAt(): number {
    const { thread } = this.#store;
    if (this.#callers === 0 && thread.outline().status !== "busy") return 0;
    return thread.listing.dueAt ?? Date.now() + INTERVAL_MS;
  }

  /** Resolves when the directory is current or unavailable; the outbox repeats a failed write. */
  async publishNow(): Promise<void> {
    if (!this.#isStale()) return;
    this.#callers += 1;
    await this.#update((entry) => publishEntryNow(this.#env, entry))
      .catch((error: unknown) => log.error("directory_write_failed", error))
      .finally(() => {
        this.#callers -= 1;
      });
  }

  async #update(write: (entry: DirectoryEntry) => Promise<Publication>): Promise<void> {
    await updateDirectory(this.#env, this.#store, async (entry) => {
      const { move_to, cancellations } = await write(entry);
      if (cancellations.length > 0) this.#onCancelled(cancellations);
      return move_to;
    });
  }
}

async function updateDirectory(
  env: Env,
  store: ThreadStore,
  write: (entry: DirectoryEntry) => Promise<number | null>,
): Promise<void> {
  const header = store.thread.header();
  if (header.ended_at !== null) return removeEntry(env, store);
  const entry = store.thread.listing.directoryEntry();
  if (!entry) return;
  // Marked before the directory has the entry, so that the entry is removed even after a crash in between.
  if (entry.is_temporary === 1) markPublished(store, 0);
  // Stores `directory_seq` before it is published: after a crash, later entries still have greater numbers.
  if (store.thread.hasUnwrittenStart) store.transaction(() => store.thread.writeStart());
  const generation = await write(entry);
  // A deletion may have overtaken this write.
  if (!hasThread(store, entry)) return forgetThread(env, entry);
  const { listing } = store.thread;
  if (generation !== null) {
    store.transaction(() => listing.moveTo(generation));
    return updateDirectory(env, store, write);
  }
  if (listing.canMarkLater) listing.markPublishedLater(entry.seq);
  else markPublished(store, entry.seq);
}

async function removeEntry(env: Env, store: ThreadStore) {
  const { key } = store.thread.listing;
  await publishRemoval(env, key);
  if (hasThread(store, key)) markPublished(store, null);
}

/** Whether the object still has the thread: after a call it may have another one, or none. */
function hasThread(store: ThreadStore, { thread_id }: { thread_id: string }): boolean {
  return store.exists && store.thread.id === thread_id;
}

function markPublished(store: ThreadStore, seq: number | null) {
  store.transaction(() => store.thread.listing.markPublished(seq));
}

/** Returns a function that changes the thread that the object has now, unless it has been deleted since. */
function changerOf(store: ThreadStore) {
  const { deletedThreads } = store;
  return (change: () => void) => {
    if (store.exists && store.deletedThreads === deletedThreads) store.transaction(change);
  };
}

/** Hands the webhooks of ended runs over to `enqueueWebhook`, one at a time. */
export function webhookOutbox({ env, store, kv, onFlushed }: Outboxes): Outbox {
  return new Outbox({
    retry_ms: WEBHOOK_RETRY_MS,
    failures: failuresOf(kv, "webhooks"),
    hasPending: () => store.exists && store.webhooks.hasPending,
    dueAt: () => 0,
    deliver: async () => {
      // A crash can still undo the end of a run that is not durable.
      await store.durable();
      const webhook = store.exists ? store.webhooks.next() : null;
      if (!webhook) return;
      const changeThread = changerOf(store);
      await enqueueWebhook(env, store.thread.header(), webhook);
      changeThread(() => store.webhooks.remove(webhook.run_id));
    },
    onFailed: (error) => log.error("webhook_not_handed_over", error),
    onFlushed,
  });
}

/** Delivers the traces to ingestion page by page, and removes the stored pages. */
export function traceOutbox({ env, store, kv, retry_ms, onFlushed }: Outboxes): Outbox {
  return new Outbox({
    retry_ms,
    failures: failuresOf(kv, "traces"),
    hasPending: () => store.exists && store.traces.hasPending,
    dueAt: () => Date.now() + TRACE_DELAY_MS,
    deliver: async () => {
      const page = store.traces.page();
      const changeThread = changerOf(store);
      await deliver(env, store.thread.header(), page.rows);
      changeThread(() => store.traces.remove(page));
    },
    onFailed: (error) => log.error("traces_not_delivered", error),
    onFlushed,
  });
}
