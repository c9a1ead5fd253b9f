import { log } from "../../../shared/log.ts";
import { enqueueWebhook } from "../../webhooks/service.ts";
import type { ThreadStore } from "../storage/store.ts";

const RETRY_MS = 10_000;

/** Flushes the webhooks of ended runs into their queue, and retries by alarm. */
export class WebhookOutbox {
  readonly #env: Env;
  readonly #store: ThreadStore;
  #flushing: Promise<void> | null = null;
  #retryAfter = 0;

  constructor(env: Env, store: ThreadStore) {
    this.#env = env;
    this.#store = store;
  }

  /** Time of the next retry, `null` when the outbox is empty. */
  get wake(): number | null {
    return this.#store.webhooks.hasPending ? Date.now() + RETRY_MS : null;
  }

  scheduleFlush() {
    if (!this.#store.webhooks.hasPending || Date.now() < this.#retryAfter) return;
    this.flush().catch((error: unknown) => {
      log.error("webhook_not_handed_over", error);
      this.#retryAfter = Date.now() + RETRY_MS;
    });
  }

  /** Resolves when the outbox is empty. */
  flush(): Promise<void> {
    this.#flushing ??= this.#flushAll().finally(() => {
      this.#flushing = null;
    });
    return this.#flushing;
  }

  async #flushAll(): Promise<void> {
    // A crash can still undo the end of a run that is not durable.
    await this.#store.durable();
    while (this.#store.exists) {
      const webhook = this.#store.webhooks.next();
      if (!webhook) return;
      await enqueueWebhook(this.#env, this.#store.thread.header(), webhook);
      if (!this.#store.exists) return;
      this.#store.transaction(() => this.#store.webhooks.remove(webhook.run_id));
    }
  }
}
