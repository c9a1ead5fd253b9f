import { log } from "../../shared/log.ts";
import {
  childrenOf,
  generationOf,
  isOfLastGeneration,
  slotOf,
} from "../../shared/storage/slots.ts";
import type { DivisionState, MovedItem, NamedOp, StoreSlot } from "./storage/calls.ts";
import { MAX_BATCHES, STORE_SIZE } from "./storage/limits.ts";
import type { ItemStore } from "./storage/store.ts";
import { storeObject } from "./stub.ts";

/** `frozen`: items up to this id are being moved. These items may be in two objects, so writes to them wait. */
type Division = StoreSlot & { frozen: number | null; isDone: boolean };

const DIVISION = "division";
const RATE_WINDOW_MS = 10_000;

/**
 * Moves the items of a full or busy object to the objects of its four child slots, by the hash of their namespaces. A
 * batch is frozen, added to these objects, and then deleted here. After a crash the batch is repeated, so no item is
 * lost.
 */
export class StoreDivision {
  readonly #env: Env;
  readonly #storage: DurableObjectStorage;
  readonly #store: ItemStore;
  #division: Division | null;
  #moving: Promise<void> | null = null;
  #window = { from: 0, ops: 0 };

  constructor(env: Env, storage: DurableObjectStorage, store: ItemStore) {
    this.#env = env;
    this.#storage = storage;
    this.#store = store;
    this.#division = storage.kv.get<Division>(DIVISION) ?? null;
  }

  get state(): DivisionState {
    if (this.#division === null) return "leaf";
    return this.#division.isDone ? "divided" : "dividing";
  }

  /**
   * Begins to divide an object that is too large, or has too many operations a second. `ops`: number of operations of
   * this call.
   * @returns whether a division began
   */
  beginIfFull(slotRef: StoreSlot, ops: number): boolean {
    const limits = { ...STORE_SIZE, ...STORE_SIZE.of.get(slotRef.deployment_id) };
    const isLarge = this.#storage.sql.databaseSize >= limits.max_bytes;
    const isWanted = this.#countRate(ops) >= limits.max_ops_per_s || isLarge;
    if (!isWanted || this.#division || isOfLastGeneration(slotRef.slot)) return false;
    if (!this.#store.moves.isDivisible()) return false;
    this.#save({ ...slotRef, frozen: null, isDone: false });
    log.info("store_division_began", { ...slotRef, bytes: this.#storage.sql.databaseSize });
    return true;
  }

  /** Moves batches until none of the operations is on an item that is being moved. */
  async untilMoved(ops: NamedOp[]): Promise<void> {
    await this.untilIdsMoved(() =>
      ops.flatMap((op) => {
        const id = this.#store.idOf(op);
        return id === null ? [] : [id];
      }),
    );
  }

  async untilIdsMoved(idsOf: () => number[]): Promise<void> {
    while (this.state === "dividing" && idsOf().some((id) => id <= (this.#division?.frozen ?? 0)))
      await this.#moveBatch();
  }

  /** Moves up to `MAX_BATCHES` batches. @returns whether no division is under way any more */
  async run(): Promise<boolean> {
    for (let n = 0; n < MAX_BATCHES && this.state === "dividing"; n++) await this.#moveBatch();
    return this.state !== "dividing";
  }

  /** Passes items of the parent slot on to the child slots, because this object takes no new items. */
  async pass(items: MovedItem[]): Promise<void> {
    // An item that this object has is moved by its own division.
    await this.#send(items.filter(({ id }) => !this.#store.moves.has(id)));
  }

  /**
   * Deletes all items of a divided or dividing object, and those of its child slots. The object stays divided until
   * `forget`, because other isolates know its child slots. Does nothing to a leaf.
   */
  async clear(isKept: boolean): Promise<void> {
    // A batch under way would add its items again.
    for (let moving = this.#moving; moving !== null; moving = this.#moving)
      await moving.catch(() => {});
    const division = this.#division;
    if (!division) return;
    this.#storage.transactionSync(() => {
      this.#store.moves.deleteUpTo(Number.MAX_SAFE_INTEGER);
      this.#save({ ...division, frozen: null, isDone: true });
    });
    await Promise.all(
      childrenOf(division.slot).map((slot) =>
        storeObject(this.#env, { ...division, slot }).clear(isKept),
      ),
    );
  }

  forget(): void {
    this.#division = null;
  }

  #moveBatch(): Promise<void> {
    this.#moving ??= this.#move().finally(() => {
      this.#moving = null;
    });
    return this.#moving;
  }

  async #move(): Promise<void> {
    const division = this.#division;
    if (!division || division.isDone) return;
    const { moves } = this.#store;
    const last = division.frozen ?? moves.next();
    if (last === null) return this.#end(division);
    this.#save({ ...division, frozen: last });
    await this.#send(moves.upTo(last));
    this.#storage.transactionSync(() => {
      moves.deleteUpTo(last);
      this.#save({ ...division, frozen: null });
    });
  }

  async #send(items: MovedItem[]): Promise<void> {
    const division = this.#division;
    if (!division) return;
    const { deployment_id } = division;
    const next = generationOf(division.slot) + 1;
    const bySlot = Map.groupBy(items, ({ namespace }) => slotOf(namespace, next));
    await Promise.all(
      [...bySlot].map(([slot, some]) =>
        storeObject(this.#env, { deployment_id, slot }).add(some, { deployment_id, slot }),
      ),
    );
  }

  #end({ deployment_id, slot }: Division) {
    this.#save({ deployment_id, slot, frozen: null, isDone: true });
    log.info("store_divided", { deployment_id, slot });
  }

  #save(division: Division) {
    this.#storage.kv.put(DIVISION, division);
    this.#division = division;
  }

  /**
   * Counts operations on single items. Searches do not count: they call all objects, so a division would not spread
   * them.
   * @returns operations per second of the window that this call ends, 0 when it ends none
   */
  #countRate(ops: number): number {
    const now = Date.now();
    const { from, ops: before } = this.#window;
    const isOver = now - from >= RATE_WINDOW_MS;
    this.#window = isOver ? { from: now, ops } : { from, ops: before + ops };
    return isOver && from > 0 ? (before * 1000) / (now - from) : 0;
  }
}
