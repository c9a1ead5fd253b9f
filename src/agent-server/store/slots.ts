import type { StoreRefusal } from "../../isolate/store-contract.ts";
import type { Filters } from "../../shared/filters.ts";
import type { PageSource } from "../../shared/storage/merge.ts";
import { childrenOf, generationOf, ROOT, slotOf } from "../../shared/storage/slots.ts";
import type { StoreCalls, StorePage, StoreSlot } from "./storage/calls.ts";
import { toText } from "./storage/namespaces.ts";
import { isKnownDivided, learnDivided, storeObject } from "./stub.ts";

/** The store of a deployment and the caller's authorization filters. */
export type StoreReader = { env: Env; deployment_id: string; filters: Filters | null };

type ReadPage<T> = (object: StoreCalls, after: T | null) => Promise<StorePage<T>>;
export type InSlot<T> = { row: T; slot: number };

/** A request that the store refuses. */
export class StoreRefused extends Error {
  readonly refusal: StoreRefusal;

  constructor(refusal: StoreRefusal) {
    super(refusal.message);
    this.refusal = refusal;
  }
}

/** Returns the slot of a namespace: `from` or, while the isolate knows that a slot is divided, its child slot. */
export function slotOfNamespace(
  { deployment_id }: StoreReader,
  namespace: string[],
  from: number,
): number {
  let slot = from;
  while (isKnownDivided({ deployment_id, slot })) slot = nextSlot(slot, namespace);
  return slot;
}

export function nextSlot(slot: number, namespace: string[]): number {
  return slotOf(toText(namespace), generationOf(slot) + 1);
}

/**
 * Reads the first pages of all objects. An object that is being divided is read before its child slots: an item that
 * has left the object was added to a child slot before. Child slots are read side by side.
 */
export async function readSlots<T>(
  store: StoreReader,
  read: ReadPage<T>,
  slot = ROOT,
): Promise<PageSource<InSlot<T>>[]> {
  const slotRef = { deployment_id: store.deployment_id, slot };
  const readBelow = async () =>
    (await Promise.all(childrenOf(slot).map((each) => readSlots(store, read, each)))).flat();
  if (isKnownDivided(slotRef)) return readBelow();
  const page = await read(storeObject(store.env, slotRef), null);
  if (page.state === "divided") learnDivided(slotRef);
  const own = page.state === "divided" ? [] : [toSource(store, slotRef, page, read)];
  return page.state === "leaf" ? own : [...own, ...(await readBelow())];
}

function toSource<T>(
  store: StoreReader,
  slotRef: StoreSlot,
  { rows, isLast }: StorePage<T>,
  read: ReadPage<T>,
): PageSource<InSlot<T>> {
  const last = rows.at(-1);
  const readNext = async () =>
    toSource(store, slotRef, await read(storeObject(store.env, slotRef), last ?? null), read);
  return {
    rows: rows.map((row) => ({ row, slot: slotRef.slot })),
    next: isLast || last === undefined ? null : readNext,
  };
}
