import type { StoredItem, StoreOp, StoreResult } from "../../../isolate/store-contract.ts";
import { allows, type Filters } from "../../../shared/filters.ts";
import { isMigrated, migrate } from "../../../shared/storage/object-tables.ts";
import { matches } from "./filter.ts";
import { type FoundItem, Items } from "./items.ts";
import { MAX_ANSWER_BYTES } from "./limits.ts";
import { MIGRATIONS } from "./migrations.ts";
import { Vectors } from "./vectors.ts";

type Op<K extends StoreOp["op"]> = Extract<StoreOp, { op: K }>;

type Call = { now: number; filters: Filters | null; room: { bytes: number } };

/** The authorization filters hide the new item, or the item that it would replace. */
export class NotAllowed extends Error {}

/** The result exceeds the limit of an RPC message. */
export class AnswerTooLarge extends Error {}

/** Items of one deployment. Calls are synchronous. */
export class ItemStore {
  readonly #storage: DurableObjectStorage;
  readonly #items: Items;
  readonly #vectors: Vectors;
  #exists: boolean;

  constructor(storage: DurableObjectStorage) {
    this.#storage = storage;
    this.#exists = isMigrated(storage);
    if (this.#exists) migrate(storage, MIGRATIONS);
    this.#items = new Items(storage.sql);
    this.#vectors = new Vectors(storage.sql);
  }

  /** Applies operations in order, in one transaction. */
  apply(ops: StoreOp[], now: number, filters: Filters | null): StoreResult[] {
    if (!this.#exists && ops.some(({ op }) => op === "put")) {
      migrate(this.#storage, MIGRATIONS);
      this.#exists = true;
    }
    const call = { now, filters, room: { bytes: MAX_ANSWER_BYTES } };
    return this.#storage.transactionSync(() => ops.map((op) => this.#applyOne(op, call)));
  }

  /** Returns the number of expired items deleted. More may remain when it equals the limit. */
  sweep(now: number, limit: number): number {
    if (!this.#exists) return 0;
    const ids = this.#items.ended(now, limit);
    this.#storage.transactionSync(() => {
      for (const id of ids) this.#delete(id);
    });
    return ids.length;
  }

  nextEnd(): number | null {
    return this.#exists ? this.#items.nextEnd() : null;
  }

  async deleteAll(): Promise<void> {
    this.#exists = false;
    await this.#storage.deleteAll();
  }

  #applyOne(op: StoreOp, call: Call): StoreResult {
    if (!this.#exists) return op.op === "search" || op.op === "namespaces" ? [] : null;
    switch (op.op) {
      case "put":
        return this.#put(op, call);
      case "get":
        return this.#get(op, call);
      case "delete":
        return this.#deleteAllowed(op, call);
      case "search":
        return this.#search(op, call);
      case "namespaces":
        return this.#namespaces(op, call);
    }
  }

  #put({ namespace, key, value, vectors, ttl_ms }: Op<"put">, { now, filters }: Call): null {
    const before = filters && this.#items.get({ namespace, key }, now);
    const items = [{ namespace, key, value }, ...(before ? [before] : [])];
    if (!items.every((item) => isVisible(item, filters))) throw new NotAllowed();
    const id = this.#items.put({ namespace, key }, value, ttl_ms, now);
    this.#vectors.replace(id, vectors);
    return null;
  }

  #get(op: Op<"get">, { now, filters, room }: Call): StoredItem | null {
    const item = this.#items.get(op, now);
    if (!item || !isVisible(item, filters)) return null;
    if (op.refresh) this.#items.refresh([item.id], now);
    return takeRoom(item, room);
  }

  #deleteAllowed(op: Op<"delete">, { now, filters }: Call): null {
    const item = filters && this.#items.get(op, now);
    return item && !isVisible(item, filters) ? null : this.#delete(this.#items.idOf(op));
  }

  #delete(id: number | null): null {
    if (id === null) return null;
    this.#vectors.replace(id, []);
    this.#items.delete(id);
    return null;
  }

  #search(op: Op<"search">, call: Call): StoredItem[] {
    const { now, room } = call;
    const found = op.vector ? this.#nearest(op, op.vector, call) : this.#newest(op, call);
    const items = found.map(({ id, score }) => {
      const item = this.#items.byId(id);
      return item && { ...takeRoom(item, room), id, score };
    });
    const present = items.filter((item) => item !== null);
    if (op.refresh) {
      const ids = present.map(({ id }) => id);
      this.#items.refresh(ids, now);
    }
    return present.map(({ id: _, ...item }) => item);
  }

  #nearest(op: Op<"search">, vector: Float32Array, { now, filters }: Call) {
    const scope = { prefix: op.prefix, now, count: op.offset + op.limit };
    const isWanted = (id: number) => this.#isMatch(id, op.filter, filters);
    const found = this.#vectors.nearest(vector, scope, isWanted);
    return found.slice(op.offset);
  }

  #newest({ prefix, filter, offset, limit }: Op<"search">, { now, filters }: Call) {
    const found: { id: number; score: null }[] = [];
    let passed = 0;
    for (const id of this.#items.newest(prefix, now)) {
      if (!this.#isMatch(id, filter, filters)) continue;
      if (passed++ < offset) continue;
      found.push({ id, score: null });
      if (found.length === limit) break;
    }
    return found;
  }

  #isMatch(id: number, filter: Record<string, unknown> | null, filters: Filters | null): boolean {
    const isAny = !filter || Object.keys(filter).length === 0;
    if (isAny && !filters) return true;
    const item = this.#items.byId(id);
    if (item === null || !isVisible(item, filters)) return false;
    return isAny || matches(JSON.parse(item.value), filter);
  }

  #namespaces({ conditions, max_depth, limit, offset }: Op<"namespaces">, { now, filters }: Call) {
    const found: string[][] = [];
    let passed = 0;
    for (const namespace of this.#items.namespaces(conditions, max_depth, now)) {
      if (!allows(filters, { namespace })) continue;
      if (passed++ < offset) continue;
      found.push(namespace);
      if (found.length === limit) break;
    }
    return found;
  }
}

/** Applies filters to the fields of the value, the namespace and the key, like other servers. */
function isVisible(
  { namespace, key, value }: Pick<StoredItem, "namespace" | "key" | "value">,
  filters: Filters | null,
): boolean {
  return filters === null || allows(filters, { ...JSON.parse(value), namespace, key });
}

function takeRoom({ id: _, ...item }: FoundItem, room: { bytes: number }): StoredItem {
  room.bytes -= item.value.length;
  if (room.bytes < 0) throw new AnswerTooLarge();
  return item;
}
