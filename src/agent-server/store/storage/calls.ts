import type {
  StoredItem,
  StoreOp,
  StoreRefusal,
  StoreResult,
} from "../../../isolate/store-contract.ts";
import type { Filters } from "../../../shared/filters.ts";

export type SearchOp = Extract<StoreOp, { op: "search" }>;
export type NamespacesOp = Extract<StoreOp, { op: "namespaces" }>;
export type NamedOp = Exclude<StoreOp, SearchOp | NamespacesOp>;

/** An object of the store of a deployment. */
export type StoreSlot = { deployment_id: string; slot: number };

/**
 * `leaf`: takes new items. `dividing`: moves its items to its child slots, and takes no new ones. `divided`: has no
 * items, and takes none. A leaf lacks items that its parent has not moved yet.
 */
export type DivisionState = "leaf" | "dividing" | "divided";

/** `rank`: order among items of equal score, higher first: by change, or by creation in a search by meaning. */
export type FoundRow = { id: number; rank: number; score: number | null; bytes: number };
export type StorePage<T> = { rows: T[]; isLast: boolean; state: DivisionState };

/** An item as it is stored. `namespace`: as text. */
export type MovedItem = {
  id: number;
  namespace: string;
  key: string;
  value: string;
  seq: number;
  created_at: number;
  updated_at: number;
  ttl_ms: number | null;
  expires_at: number | null;
  vectors: ArrayBuffer[];
};

/**
 * `moved`: indexes of the operations that were not applied: those that belong to a child slot and, unless the object is
 * a leaf, the first search and all operations after it.
 */
export type StoreReply =
  | { ok: true; results: StoreResult[]; moved: number[]; state: DivisionState }
  | { ok: false; refusal: StoreRefusal };
export type ItemsReply =
  | { ok: true; items: (StoredItem & { id: number })[]; state: DivisionState }
  | { ok: false; refusal: StoreRefusal };

/** Methods of an object of a store. `filters`: authorization filters, `null` for all items. */
export interface StoreCalls {
  /** Applies operations in one transaction. `max_bytes`: of the items in the reply. */
  apply(
    ops: StoreOp[],
    filters: Filters | null,
    slotRef: StoreSlot,
    max_bytes: number,
  ): Promise<StoreReply>;
  /** Finds up to `limit` items, without their values. `after`: the last one of the page before. */
  find(op: SearchOp, filters: Filters | null, after: FoundRow | null): Promise<StorePage<FoundRow>>;
  /** Reads those of the items that the object has and the filters allow. */
  read(ids: number[], filters: Filters | null, refresh: boolean): Promise<ItemsReply>;
  listNamespaces(
    op: NamespacesOp,
    filters: Filters | null,
    after: string[] | null,
  ): Promise<StorePage<string[]>>;
  /** Adds items of the parent slot. May be repeated: an item that the object already has stays as it is. */
  add(items: MovedItem[], slotRef: StoreSlot): Promise<void>;
  /** Deletes all items, those of child slots too. `isKept`: the store remains, with the record of its division. */
  clear(isKept: boolean): Promise<void>;
}

export function isNamed(op: StoreOp): op is NamedOp {
  return op.op !== "search" && op.op !== "namespaces";
}
