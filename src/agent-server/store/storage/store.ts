import type { StoredItem, StoreOp, StoreResult } from "../../../isolate/store-contract.ts";
import type { Filters } from "../../../shared/filters.ts";
import { isMigrated, migrate } from "../../../shared/storage/object-tables.ts";
import { AnswerRoom, withoutId } from "./answer.ts";
import type { FoundRow, MovedItem, NamedOp, NamespacesOp, SearchOp, StorePage } from "./calls.ts";
import { isNamed } from "./calls.ts";
import { type FoundItem, Items } from "./items.ts";
import { MIGRATIONS } from "./migrations.ts";
import { Moves } from "./moves.ts";
import { ItemSearch, isVisible } from "./search.ts";
import { Vectors } from "./vectors.ts";

type Op<K extends StoreOp["op"]> = Extract<StoreOp, { op: K }>;

/** `now`: epoch milliseconds. `max_bytes`: maximum of the answer. */
type Reader = { now: number; filters: Filters | null; max_bytes: number };
type StoreWriter = Reader & { slot: number; isLeaf: boolean };
type Call = StoreWriter & { room: AnswerRoom };
type Rows<T> = Omit<StorePage<T>, "state">;

/** The authorization filters hide the new item, or the item that it would replace. */
export class NotAllowed extends Error {}

/** The items of one object. All calls but `deleteAll` are synchronous. */
export class ItemStore {
  readonly #storage: DurableObjectStorage;
  readonly #items: Items;
  readonly #vectors: Vectors;
  readonly #search: ItemSearch;
  readonly moves: Moves;
  #exists: boolean;

  constructor(storage: DurableObjectStorage) {
    this.#storage = storage;
    this.#exists = isMigrated(storage);
    if (this.#exists) migrate(storage, MIGRATIONS);
    this.#items = new Items(storage.sql);
    this.#vectors = new Vectors(storage.sql);
    this.#search = new ItemSearch(this.#items, this.#vectors);
    this.moves = new Moves(storage.sql);
  }

  /**
   * Applies operations in order, in one transaction. A divided or dividing object applies only operations on items that
   * it has, up to the first search. `moved`: indexes of the operations that were not applied.
   */
  apply(ops: StoreOp[], writer: StoreWriter): { results: StoreResult[]; moved: number[] } {
    if (ops.some(({ op }) => op === "put") && writer.isLeaf) this.#create();
    const call = { ...writer, room: new AnswerRoom(writer.max_bytes) };
    const search = ops.findIndex((op) => !isNamed(op));
    const end = writer.isLeaf || search === -1 ? ops.length : search;
    const moved: number[] = [];
    const results = this.#storage.transactionSync(() => {
      const applied = ops.map((op, n) => {
        if (n < end && this.#isHere(op, call)) return this.#applyOne(op, call);
        moved.push(n);
        return null;
      });
      call.room.end();
      return applied;
    });
    return { results, moved };
  }

  find(op: SearchOp, reader: Reader, after: FoundRow | null): Rows<FoundRow> {
    if (!this.#exists) return { rows: [], isLast: true };
    const found = this.#search.find(op, reader, after);
    const rows = found.map((row) => ({ ...row, bytes: this.#search.bytesOf(row.id) }));
    return { rows, isLast: rows.length < op.limit };
  }

  listNamespaces(op: NamespacesOp, reader: Reader, after: string[] | null): Rows<string[]> {
    const rows = this.#exists ? this.#search.namespaces(op, reader, after) : [];
    return { rows, isLast: rows.length < op.limit };
  }

  /** Reads those of the items that the object has and the filters allow. */
  read(ids: number[], reader: Reader, refresh: boolean): FoundItem[] {
    if (!this.#exists) return [];
    const room = new AnswerRoom(reader.max_bytes);
    const found = ids.flatMap((id) => {
      const item = this.#items.byId(id);
      return item && isVisible(item, reader.filters) && room.take(item) ? [item] : [];
    });
    room.end();
    if (refresh) this.#refresh(found, reader);
    return found;
  }

  /** @returns `null` when the object has no such item */
  idOf(op: NamedOp): number | null {
    return this.#exists ? this.#items.idOf(op) : null;
  }

  /** Returns those of the ids that the object has. */
  has(ids: number[]): number[] {
    return this.#exists ? ids.filter((id) => this.moves.has(id)) : [];
  }

  add(items: MovedItem[]) {
    this.#create();
    this.#storage.transactionSync(() => {
      for (const item of items) this.moves.add(item);
    });
  }

  /** Returns the number of expired items deleted. More may remain when it equals the limit. */
  sweep(now: number, limit: number): number {
    if (!this.#exists) return 0;
    const ids = this.#items.expiredIds(now, limit);
    this.#storage.transactionSync(() => {
      for (const id of ids) this.#delete(id);
    });
    return ids.length;
  }

  nextExpiry(): number | null {
    return this.#exists ? this.#items.nextExpiry() : null;
  }

  async deleteAll(): Promise<void> {
    this.#exists = false;
    await this.#storage.deleteAll();
  }

  #create() {
    if (this.#exists) return;
    migrate(this.#storage, MIGRATIONS);
    this.#exists = true;
  }

  #isHere(op: StoreOp, { isLeaf }: Call): boolean {
    return isLeaf || (isNamed(op) && this.idOf(op) !== null);
  }

  #applyOne(op: StoreOp, call: Call): StoreResult {
    if (!this.#exists) return isNamed(op) ? null : [];
    switch (op.op) {
      case "put":
        return this.#put(op, call);
      case "get":
        return this.#get(op, call);
      case "delete":
        return this.#deleteAllowed(op, call);
      case "search":
        return this.#searchItems(op, call);
      case "namespaces":
        return this.#search.namespaces(op, call).filter((one) => call.room.take(one));
    }
  }

  #put({ namespace, key, value, vectors, ttl_ms }: Op<"put">, { now, filters, slot }: Call): null {
    const before = filters && this.#items.get({ namespace, key }, now);
    const items = [{ namespace, key, value }, ...(before ? [before] : [])];
    if (!items.every((item) => isVisible(item, filters))) throw new NotAllowed();
    const expired = this.#items.deleteExpired({ namespace, key }, now);
    if (expired !== null) this.#vectors.replace(expired, []);
    const id = this.#items.put({ namespace, key }, { value, ttl_ms, now, slot });
    this.#vectors.replace(id, vectors);
    return null;
  }

  #get(op: Op<"get">, { now, filters, room }: Call): StoredItem | null {
    const item = this.#items.get(op, now);
    if (!item || !isVisible(item, filters)) return null;
    if (op.refresh) this.#items.refresh([item.id], now);
    return room.take(item) ? withoutId(item) : null;
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

  #searchItems(op: SearchOp, call: Call): StoredItem[] {
    const found = this.#search.find(op, call);
    const items = found.flatMap(({ id, score }) => {
      const item = this.#items.byId(id);
      return item && call.room.take(item) ? [{ ...item, score }] : [];
    });
    if (op.refresh) this.#refresh(items, call);
    return items.map(withoutId);
  }

  #refresh(items: FoundItem[], { now }: Reader) {
    const ids = items.map(({ id }) => id);
    this.#items.refresh(ids, now);
  }
}
