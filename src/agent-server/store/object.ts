import { DurableObject } from "cloudflare:workers";
import type { StoreAnswer, StoreOp, StoreRefusal } from "../../isolate/store-contract.ts";
import type { Filters } from "../../shared/filters.ts";
import { problemOf } from "./rules.ts";
import { MAX_ANSWER_BYTES, SWEEP_ITEMS, SWEEP_MS } from "./storage/limits.ts";
import { AnswerTooLarge, ItemStore, NotAllowed } from "./storage/store.ts";

/** The store of one deployment, which its threads share. Named by the deployment's id. */
export class StoreObject extends DurableObject<Env> {
  readonly #store = new ItemStore(this.ctx.storage);
  #alarmAt: number | null = null;

  /** `filters`: authorization filters, `null` for all items. */
  async apply(ops: StoreOp[], filters: Filters | null): Promise<StoreAnswer> {
    const refusal = problemOf(ops);
    if (refusal) return { ok: false, refusal };
    try {
      const results = this.#store.apply(ops, Date.now(), filters);
      this.#armFor(ops);
      return { ok: true, results };
    } catch (error) {
      return { ok: false, refusal: refusalOf(error) };
    }
  }

  async clear(): Promise<void> {
    this.#alarmAt = null;
    await this.ctx.storage.deleteAlarm();
    await this.#store.deleteAll();
  }

  override async alarm() {
    this.#alarmAt = null;
    const now = Date.now();
    const swept = this.#store.sweep(now, SWEEP_ITEMS);
    const next = swept === SWEEP_ITEMS ? now : this.#store.nextEnd();
    if (next !== null) this.#arm(next === now ? now : Math.max(next, now + SWEEP_MS));
  }

  #armFor(ops: StoreOp[]) {
    const ends = ops.some((op) => op.op === "put" && op.ttl_ms !== null);
    const next = ends && this.#alarmAt === null ? this.#store.nextEnd() : null;
    if (next !== null) this.#arm(Math.max(next, Date.now() + SWEEP_MS));
  }

  #arm(at: number) {
    this.#alarmAt = at;
    void this.ctx.storage.setAlarm(at);
  }
}

/** Errors of the request. All others are internal errors. */
function refusalOf(error: unknown): StoreRefusal {
  if (error instanceof AnswerTooLarge) {
    const message = `limit: the response has more than ${MAX_ANSWER_BYTES} characters; use a smaller limit.`;
    return { code: "too_large", message };
  }
  if (error instanceof NotAllowed) {
    const message = "The agent's auth does not allow this item, or replacing the existing one.";
    return { code: "forbidden", message };
  }
  if (error instanceof Error && /SQLITE_FULL|database or disk is full/.test(error.message)) {
    const message = "The store of this deployment is full: delete items, or set a ttl.";
    return { code: "too_large", message };
  }
  throw error;
}
