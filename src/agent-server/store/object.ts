import { DurableObject } from "cloudflare:workers";
import type { StoreOp, StoreRefusal } from "../../isolate/store-contract.ts";
import type { Filters } from "../../shared/filters.ts";
import { ROOT } from "../../shared/storage/slots.ts";
import { runAlarm } from "../../shared/work/alarm.ts";
import { StoreDivision } from "./division.ts";
import { problemOf } from "./rules.ts";
import { AnswerTooLarge } from "./storage/answer.ts";
import type {
  FoundRow,
  ItemsReply,
  MovedItem,
  NamedOp,
  NamespacesOp,
  SearchOp,
  StoreCalls,
  StorePage,
  StoreReply,
  StoreSlot,
} from "./storage/calls.ts";
import { isNamed } from "./storage/calls.ts";
import { MAX_ANSWER_BYTES, SWEEP_ITEMS, SWEEP_MS } from "./storage/limits.ts";
import { ItemStore, NotAllowed } from "./storage/store.ts";

/** The store of one deployment, which its threads share, or a part of it. */
export class StoreObject extends DurableObject<Env> implements StoreCalls {
  readonly #store = new ItemStore(this.ctx.storage);
  readonly #division = new StoreDivision(this.env, this.ctx.storage, this.#store);
  #alarmAt: number | null = null;

  async apply(
    ops: StoreOp[],
    filters: Filters | null,
    slotRef: StoreSlot | null = null,
    max_bytes = MAX_ANSWER_BYTES,
  ): Promise<StoreReply> {
    const refusal = problemOf(ops);
    if (refusal) return { ok: false, refusal };
    const named = ops.filter(isNamed);
    return attempt(async () => {
      await this.#division.untilMoved(named.filter(isWriting));
      const { state } = this.#division;
      // Only a caller of an earlier version sends no slot: it does not know that a store may have several objects.
      if (!slotRef && state !== "leaf") throw new Error("The store is divided");
      const writer = { slot: slotRef?.slot ?? ROOT, isLeaf: state === "leaf", max_bytes };
      const reply = this.#store.apply(ops, { ...writer, now: Date.now(), filters });
      this.#armFor(ops.some((op) => op.op === "put" && op.ttl_ms !== null));
      if (slotRef) this.#divideIfFull(slotRef, named.length);
      return { ok: true, ...reply, state };
    });
  }

  async find(
    op: SearchOp,
    filters: Filters | null,
    after: FoundRow | null,
  ): Promise<StorePage<FoundRow>> {
    const page = this.#store.find(op, this.#reader(filters), after);
    return { ...page, state: this.#division.state };
  }

  async read(ids: number[], filters: Filters | null, refresh: boolean): Promise<ItemsReply> {
    return attempt(async () => {
      if (refresh) await this.#division.untilIdsMoved(() => this.#store.has(ids));
      const items = this.#store.read(ids, this.#reader(filters), refresh);
      return { ok: true, items, state: this.#division.state };
    });
  }

  async listNamespaces(
    op: NamespacesOp,
    filters: Filters | null,
    after: string[] | null,
  ): Promise<StorePage<string[]>> {
    const page = this.#store.listNamespaces(op, this.#reader(filters), after);
    return { ...page, state: this.#division.state };
  }

  async add(items: MovedItem[], slotRef: StoreSlot): Promise<void> {
    if (this.#division.state !== "leaf") return this.#division.pass(items);
    this.#store.add(items);
    this.#armFor(items.some(({ expires_at }) => expires_at !== null));
    this.#divideIfFull(slotRef, 0);
  }

  async clear(isKept = false): Promise<void> {
    await this.#division.clear(isKept);
    if (isKept && this.#division.state !== "leaf") return;
    this.#division.forget();
    this.#alarmAt = null;
    await this.ctx.storage.deleteAlarm();
    await this.#store.deleteAll();
  }

  override async alarm() {
    await runAlarm(this.ctx.storage, "StoreObject", async () => {
      this.#alarmAt = null;
      const isDone = await this.#division.run();
      this.#sweep();
      if (!isDone) this.#arm(Date.now());
    });
  }

  #reader(filters: Filters | null) {
    return { now: Date.now(), filters, max_bytes: MAX_ANSWER_BYTES };
  }

  #divideIfFull(slotRef: StoreSlot, ops: number) {
    if (this.#division.beginIfFull(slotRef, ops)) this.#arm(Date.now());
  }

  #sweep() {
    const now = Date.now();
    const swept = this.#store.sweep(now, SWEEP_ITEMS);
    const next = swept === SWEEP_ITEMS ? now : this.#store.nextExpiry();
    if (next !== null) this.#arm(next === now ? now : next + SWEEP_MS);
  }

  #armFor(hasExpiry: boolean) {
    const isSoon = this.#alarmAt !== null && this.#alarmAt <= Date.now() + SWEEP_MS;
    // The alarm of a division sweeps too.
    if (!hasExpiry || isSoon || this.#division.state === "dividing") return;
    const next = this.#store.nextExpiry();
    // Derived from the expiry and not from now: a restart forgets `#alarmAt`, and each later write would postpone the
    // alarm.
    const at = next === null ? null : next + SWEEP_MS;
    if (at !== null && (this.#alarmAt === null || at < this.#alarmAt)) this.#arm(at);
  }

  #arm(at: number) {
    this.#alarmAt = at;
    void this.ctx.storage.setAlarm(at);
  }
}

/** Whether an operation changes the item. Reads do not wait for items that are being moved, as these do not change. */
function isWriting(op: NamedOp): boolean {
  return op.op !== "get" || op.refresh;
}

async function attempt<T>(
  work: () => Promise<T>,
): Promise<T | { ok: false; refusal: StoreRefusal }> {
  try {
    return await work();
  } catch (error) {
    return { ok: false, refusal: refusalOf(error) };
  }
}

/** Returns the refusal for an error that the request caused. Throws every other error, as an internal one. */
function refusalOf(error: unknown): StoreRefusal {
  if (error instanceof AnswerTooLarge) {
    const message = `limit: the response has more than ${MAX_ANSWER_BYTES} bytes; use a smaller limit.`;
    return { code: "too_large", message, bytes: error.bytes };
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
