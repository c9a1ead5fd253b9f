import { log } from "../../../shared/log.ts";
import { Outbox } from "../../../shared/work/outbox.ts";
import { enqueueWebhook } from "../../webhooks/service.ts";
import { forgetThread, recordThread } from "../directory/directory.ts";
import type { ThreadStore } from "../storage/store.ts";
import type { ThreadHeader } from "../storage/thread-rows.ts";
import { deliver } from "./trace-delivery.ts";

/** Interval of the directory's publications while runs are in flight. Other changes are published at once. */
const BUSY_INTERVAL_MS = 300;
/** Delay that batches trace operations. */
const TRACE_DELAY_MS = 300;
const WEBHOOK_RETRY_MS = 10_000;

type Outboxes = { env: Env; store: ThreadStore; retry_ms: number; onFlushed: () => void };

/** Publishes the thread to the directory. */
export function directoryOutbox({ env, store, retry_ms, onFlushed }: Outboxes): Outbox {
  let published_at = 0;
  return new Outbox({
    retry_ms,
    hasPending: () => store.exists && store.thread.listing.isStale,
    dueAt: () => {
      const { thread } = store;
      if (thread.outline().status !== "busy") return 0;
      return thread.listing.dueAt ?? published_at + BUSY_INTERVAL_MS;
    },
    deliver: async () => {
      const header = store.thread.header();
      if (header.ended_at === null) await recordEntry(env, store);
      else await removeEntry(env, store, header);
    },
    onFailed: (error) => log.error("directory_write_failed", error),
    onFlushed: () => {
      published_at = Date.now();
      onFlushed();
    },
  });
}

async function recordEntry(env: Env, store: ThreadStore) {
  const entry = store.thread.listing.directoryEntry();
  if (!entry) return;
  // Marked before the row is written: after a crash in between, no row of a temporary thread is left.
  if (entry.is_temporary) markPublished(store, 0);
  await recordThread(env, entry);
  // A deletion may have overtaken this write.
  if (store.exists) markPublished(store, entry.seq);
  else await forgetThread(env, entry);
}

async function removeEntry(env: Env, store: ThreadStore, header: ThreadHeader) {
  await forgetThread(env, header);
  if (store.exists) markPublished(store, null);
}

function markPublished(store: ThreadStore, seq: number | null) {
  store.transaction(() => store.thread.listing.markPublished(seq));
}

/** Moves the webhooks of ended runs into their queue. */
export function webhookOutbox({ env, store, onFlushed }: Outboxes): Outbox {
  return new Outbox({
    retry_ms: WEBHOOK_RETRY_MS,
    hasPending: () => store.exists && store.webhooks.hasPending,
    dueAt: () => 0,
    deliver: async () => {
      // A crash can still undo the end of a run that is not durable.
      await store.durable();
      const webhook = store.exists ? store.webhooks.next() : null;
      if (!webhook) return;
      await enqueueWebhook(env, store.thread.header(), webhook);
      if (store.exists) store.transaction(() => store.webhooks.remove(webhook.run_id));
    },
    onFailed: (error) => log.error("webhook_not_handed_over", error),
    onFlushed,
  });
}

/** Delivers the traces to ingestion page by page, and removes the stored pages. */
export function traceOutbox({ env, store, retry_ms, onFlushed }: Outboxes): Outbox {
  return new Outbox({
    retry_ms,
    hasPending: () => store.exists && store.traces.hasPending,
    dueAt: () => Date.now() + TRACE_DELAY_MS,
    deliver: async () => {
      const page = store.traces.page();
      await deliver(env, store.thread.header(), page.rows);
      if (store.exists) store.transaction(() => store.traces.remove(page));
    },
    onFailed: (error) => log.error("traces_not_delivered", error),
    onFlushed,
  });
}
