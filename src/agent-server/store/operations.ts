import type { StoreAnswer, StoreOp, StoreResult } from "../../isolate/store-contract.ts";
import { detachRpcResult } from "../../shared/rpc.ts";
import { ROOT } from "../../shared/storage/slots.ts";
import { problemOf } from "./rules.ts";
import { listNamespaces, searchItems } from "./search-items.ts";
import { nextSlot, type StoreReader, StoreRefused, slotOfNamespace } from "./slots.ts";
import { bytesInMessage } from "./storage/answer.ts";
import { isNamed, type NamedOp, type StoreReply } from "./storage/calls.ts";
import { MAX_ANSWER_BYTES } from "./storage/limits.ts";
import { isKnownDivided, learnDivided, storeObject } from "./stub.ts";

/** An operation that is not applied yet. `n`: index in the batch. `slot`: the first slot that may have the item. */
type Pending<T extends StoreOp = StoreOp> = { op: T; n: number; slot: number };
type Accepted = Extract<StoreReply, { ok: true }>;

/**
 * Applies operations. While the store is one object, they are applied in order, and all or none of them. In a divided
 * store, each object applies its operations up to the next search in one transaction, and several objects do so side by
 * side. `max_bytes`: maximum of the results. The refusal of larger results has their bytes.
 */
export async function applyOps(
  store: StoreReader,
  ops: StoreOp[],
  max_bytes = MAX_ANSWER_BYTES,
): Promise<StoreAnswer> {
  try {
    return { ok: true, results: await new Batch(store, ops, max_bytes).apply() };
  } catch (error) {
    if (error instanceof StoreRefused) return { ok: false, refusal: error.refusal };
    throw error;
  }
}

class Batch {
  readonly #store: StoreReader;
  readonly #ops: StoreOp[];
  readonly #results: StoreResult[];
  readonly #maxBytes: number;
  #room: number;

  constructor(store: StoreReader, ops: StoreOp[], max_bytes: number) {
    this.#maxBytes = max_bytes;
    this.#room = max_bytes;
    this.#store = store;
    this.#ops = ops;
    this.#results = ops.map(() => null);
  }

  async apply(): Promise<StoreResult[]> {
    const all = this.#ops.map((op, n) => ({ op, n, slot: ROOT }));
    const { deployment_id } = this.#store;
    const isDivided = isKnownDivided({ deployment_id, slot: ROOT });
    // An invalid operation refuses the whole batch. The root checks this itself when it is called with the whole batch.
    const refusal = isDivided ? problemOf(this.#ops) : null;
    if (refusal) throw new StoreRefused(refusal);
    let left: Pending[] = isDivided ? all : await this.#applyGroup(ROOT, all, this.#room);
    while (left.length > 0) {
      const search = left.findIndex((each) => !isPendingNamed(each));
      const end = search === -1 ? left.length : search;
      await this.#applyNamed(left.slice(0, end).filter(isPendingNamed));
      for (const { op, n } of left.slice(end, end + 1)) this.#results[n] = await this.#search(op);
      left = left.slice(end + 1);
    }
    return this.#results;
  }

  async #search(op: StoreOp): Promise<StoreResult> {
    if (isNamed(op)) return null;
    const result =
      op.op === "search"
        ? await searchItems(this.#store, op, this.#maxBytes)
        : await listNamespaces(this.#store, op);
    this.#takeRoom([result]);
    return result;
  }

  async #applyNamed(ops: Pending<NamedOp>[]): Promise<void> {
    const groups = Map.groupBy(ops, ({ op, slot }) =>
      slotOfNamespace(this.#store, op.namespace, slot),
    );
    const share = Math.floor(this.#room / groups.size);
    const crowded: [number, Pending<NamedOp>[]][] = [];
    const moved = await Promise.all(
      [...groups].map(async ([slot, group]) => {
        const reply = await this.#send(slot, group, share);
        if (reply.ok) return this.#accept(slot, group, reply);
        const isFinal = reply.refusal.code !== "too_large" || groups.size === 1;
        if (isFinal) throw new StoreRefused(reply.refusal);
        crowded.push([slot, group]);
        return [];
      }),
    );
    // Calls the objects whose results are larger than their share one after the other.
    for (const [slot, group] of crowded)
      moved.push(await this.#applyGroup(slot, group, this.#room));
    const next = moved.flat();
    if (next.length > 0) await this.#applyNamed(next);
  }

  /** @returns the operations that the object has not applied, with the next slot to call */
  async #applyGroup<T extends StoreOp>(slot: number, group: Pending<T>[], max_bytes: number) {
    const reply = await this.#send(slot, group, max_bytes);
    if (!reply.ok) throw new StoreRefused(reply.refusal);
    return this.#accept(slot, group, reply);
  }

  #send(slot: number, group: Pending[], max_bytes: number): Promise<StoreReply> {
    const { env, deployment_id, filters } = this.#store;
    const slotRef = { deployment_id, slot };
    const ops = group.map(({ op }) => op);
    return detachRpcResult(storeObject(env, slotRef).apply(ops, filters, slotRef, max_bytes));
  }

  #accept<T extends StoreOp>(slot: number, group: Pending<T>[], reply: Accepted): Pending<T>[] {
    // During a release the object may run an earlier version, which moves nothing.
    const { results, moved = [], state = "leaf" } = reply as Partial<Accepted> & Accepted;
    if (state === "divided") learnDivided({ deployment_id: this.#store.deployment_id, slot });
    const others = new Set(moved);
    for (const [at, { n }] of group.entries())
      if (!others.has(at)) this.#results[n] = results[at] ?? null;
    this.#takeRoom(results);
    const search = group.findIndex((each) => !isPendingNamed(each));
    return group.flatMap((each, at) => {
      if (!others.has(at)) return [];
      // The object has not looked for the items of operations after a search: it may have these items.
      const isLater = search !== -1 && at >= search;
      return [isLater || !isPendingNamed(each) ? each : toNextSlot(each, slot)];
    });
  }

  #takeRoom(results: readonly StoreResult[]) {
    for (const part of results.flat()) if (part !== null) this.#room -= bytesInMessage(part);
    if (this.#room >= 0) return;
    const message = `ops: the results have more than ${MAX_ANSWER_BYTES} bytes: send smaller batches.`;
    const bytes = this.#maxBytes - this.#room;
    throw new StoreRefused({ code: "too_large", message, bytes });
  }
}

function toNextSlot<T extends Pending<NamedOp>>(pending: T, slot: number): T {
  return { ...pending, slot: nextSlot(slot, pending.op.namespace) };
}

function isPendingNamed(pending: Pending): pending is Pending<NamedOp> {
  return isNamed(pending.op);
}
