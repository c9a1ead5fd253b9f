import { log } from "../../../shared/log.ts";
import { enqueueWebhook } from "../../webhooks/service.ts";
import type { ThreadStore } from "../storage/store.ts";

const RETRY_MS = 10_000;

/** Hands the webhooks of runs that are over to their queue: at once, and by alarm until that went well. */
export class WebhookOutbox {
  readonly #env: Env;
  readonly #store: ThreadStore;
  #handing: Promise<void> | null = null;
  #after = 0;

  constructor(env: Env, store: ThreadStore) {
    this.#env = env;
    this.#store = store;
  }

  /** When the alarm should look again; null: nothing waits. */
  get wake(): number | null {
    return this.#store.webhooks.areWaiting ? Date.now() + RETRY_MS : null;
  }

  handOverSoon() {
    if (!this.#store.webhooks.areWaiting || Date.now() < this.#after) return;
    this.handOver().catch((error: unknown) => {
      log.error("webhook_not_handed_over", error);
      this.#after = Date.now() + RETRY_MS;
    });
  }

  /** Resolves when none waits any more. */
  handOver(): Promise<void> {
    this.#handing ??= this.#handOverAll().finally(() => {
      this.#handing = null;
    });
    return this.#handing;
  }

  async #handOverAll(): Promise<void> {
    // What nobody may hear of is not final.
    await this.#store.durable();
    while (this.#store.exists) {
      const waiting = this.#store.webhooks.next();
      if (!waiting) return;
      await enqueueWebhook(this.#env, this.#store.thread.header(), waiting);
      if (!this.#store.exists) return;
      this.#store.transaction(() => this.#store.webhooks.remove(waiting.run_id));
    }
  }
}
