import type { StoredItem, StoreOp, StoreResult } from "../../isolate/store-contract.ts";
import { isMigrated, migrate } from "../../shared/object-tables.ts";
import { matches } from "../filter.ts";
import { MAX_ANSWER_BYTES } from "../limits.ts";
import { type FoundItem, Items } from "./items.ts";
import { MIGRATIONS } from "./migrations.ts";
import { Vectors } from "./vectors.ts";

type Op<K extends StoreOp["op"]> = Extract<StoreOp, { op: K }>;

/** One answer would be more than a message takes. */
export class AnswerTooLarge extends Error {}

/** All that the agents and the clients of one deployment keep. Calls are synchronous. */
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

  /** One after the other, all or none. */
  apply(ops: StoreOp[], now: number): StoreResult[] {
    if (!this.#exists && ops.some(({ op }) => op === "put")) {
      migrate(this.#storage, MIGRATIONS);
      this.#exists = true;
    }
    const room = { bytes: MAX_ANSWER_BYTES };
    return this.#storage.transactionSync(() => ops.map((op) => this.#applyOne(op, now, room)));
  }

  /** How many items that have ended were deleted; more may be left when it is the limit. */
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

  #applyOne(op: StoreOp, now: number, room: { bytes: number }): StoreResult {
    if (!this.#exists) return op.op === "search" || op.op === "namespaces" ? [] : null;
    switch (op.op) {
      case "put":
        return this.#put(op, now);
      case "get":
        return this.#get(op, now, room);
      case "delete":
        return this.#delete(this.#items.idOf(op));
      case "search":
        return this.#search(op, now, room);
      case "namespaces":
        return this.#namespaces(op, now);
    }
  }

  #put({ namespace, key, value, vectors, ttl_ms }: Op<"put">, now: number): null {
    const id = this.#items.put({ namespace, key }, value, ttl_ms, now);
    this.#vectors.replace(id, vectors);
    return null;
  }

  #get(op: Op<"get">, now: number, room: { bytes: number }): StoredItem | null {
    const item = this.#items.get(op, now);
    if (!item) return null;
    if (op.refresh) this.#items.refresh([item.id], now);
    return takeRoom(item, room);
  }

  #delete(id: number | null): null {
    if (id === null) return null;
    this.#vectors.replace(id, []);
    this.#items.delete(id);
    return null;
  }

  #search(op: Op<"search">, now: number, room: { bytes: number }): StoredItem[] {
    const found = op.vector ? this.#nearest(op, op.vector, now) : this.#newest(op, now);
    const items = found.map(({ id, score }) => {
      const item = this.#items.byId(id);
      return item && { ...takeRoom(item, room), id, score };
    });
    const kept = items.filter((item) => item !== null);
    if (op.refresh) {
      const ids = kept.map(({ id }) => id);
      this.#items.refresh(ids, now);
    }
    return kept.map(({ id: _, ...item }) => item);
  }

  #nearest(op: Op<"search">, vector: Float32Array, now: number) {
    const scope = { prefix: op.prefix, now, count: op.offset + op.limit };
    const found = this.#vectors.nearest(vector, scope, (id) => this.#isWanted(id, op.filter));
    return found.slice(op.offset);
  }

  #newest({ prefix, filter, offset, limit }: Op<"search">, now: number) {
    const found: { id: number; score: null }[] = [];
    let passed = 0;
    for (const id of this.#items.newest(prefix, now)) {
      if (!this.#isWanted(id, filter)) continue;
      if (passed++ < offset) continue;
      found.push({ id, score: null });
      if (found.length === limit) break;
    }
    return found;
  }

  #isWanted(id: number, filter: Record<string, unknown> | null): boolean {
    if (!filter || Object.keys(filter).length === 0) return true;
    const item = this.#items.byId(id);
    return item !== null && matches(JSON.parse(item.value), filter);
  }

  #namespaces({ conditions, max_depth, limit, offset }: Op<"namespaces">, now: number) {
    const found: string[][] = [];
    let passed = 0;
    for (const namespace of this.#items.namespaces(conditions, max_depth, now)) {
      if (passed++ < offset) continue;
      found.push(namespace);
      if (found.length === limit) break;
    }
    return found;
  }
}

function takeRoom({ id: _, ...item }: FoundItem, room: { bytes: number }): StoredItem {
  room.bytes -= item.value.length;
  if (room.bytes < 0) throw new AnswerTooLarge();
  return item;
}
