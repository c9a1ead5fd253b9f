import type { StoredItem } from "../../isolate/store-contract.ts";
import { mergeSources, takePage } from "../../shared/storage/merge.ts";
import { childrenOf } from "../../shared/storage/slots.ts";
import { type InSlot, readSlots, type StoreReader, StoreRefused } from "./slots.ts";
import { bytesInMessage } from "./storage/answer.ts";
import type { FoundRow, NamespacesOp, SearchOp } from "./storage/calls.ts";
import { MAX_ANSWER_BYTES, MAX_FOUND_ROWS, MAX_LISTED_ROWS } from "./storage/limits.ts";
import { isTextBefore, toText } from "./storage/namespaces.ts";
import { storeObject } from "./stub.ts";

type SearchRow = InSlot<FoundRow>;
type ReadItem = StoredItem & { id: number };

/** Finds a page among the items of all Durable Objects, and then reads those items. */
export async function searchItems(
  store: StoreReader,
  op: SearchOp,
  max_bytes: number,
): Promise<StoredItem[]> {
  const { offset, limit } = op;
  // Each object returns its first rows, and the merge applies the offset.
  const page = { ...op, offset: 0, limit: Math.min(offset + limit, MAX_FOUND_ROWS) };
  const sources = await readSlots<FoundRow>(store, (object, after) =>
    object.find(page, store.filters, after),
  );
  // An item that is being moved may be in two objects.
  const found = await takePage(mergeSources(sources, isFoundBefore), op, ({ row }) => row.id);
  assertRoom(
    found.map(({ row }) => row.bytes),
    max_bytes,
  );
  const items = new Map<number, ReadItem>();
  await Promise.all(
    [...Map.groupBy(found, ({ slot }) => slot)].map(async ([slot, some]) => {
      const ids = some.map(({ row }) => row.id);
      for (const item of await readItems(store, slot, ids, op.refresh)) items.set(item.id, item);
    }),
  );
  const results = found.flatMap(({ row: { id, score } }) => {
    const item = items.get(id);
    return item ? [toResult(item, score)] : [];
  });
  assertRoom(results.map(bytesInMessage), max_bytes);
  return results;
}

/** Lists the namespaces of all Durable Objects. Several objects may have a namespace that is cut to `max_depth`. */
export async function listNamespaces(store: StoreReader, op: NamespacesOp): Promise<string[][]> {
  const { offset, limit } = op;
  const page = { ...op, offset: 0, limit: Math.min(offset + limit, MAX_LISTED_ROWS) };
  const sources = await readSlots<string[]>(store, (object, after) =>
    object.listNamespaces(page, store.filters, after),
  );
  const merged = mergeSources(sources, (one, other) =>
    isTextBefore(toText(one.row), toText(other.row)),
  );
  return (await takePage(merged, op, ({ row }) => toText(row))).map(({ row }) => row);
}

/** Reads items of an object. Reads missing items of a divided or dividing object in its child slots. */
async function readItems(
  store: StoreReader,
  slot: number,
  ids: number[],
  refresh: boolean,
): Promise<ReadItem[]> {
  const { env, deployment_id, filters } = store;
  const reply = await storeObject(env, { deployment_id, slot }).read(ids, filters, refresh);
  if (!reply.ok) throw new StoreRefused(reply.refusal);
  const read = new Set(reply.items.map(({ id }) => id));
  const missing = ids.filter((id) => !read.has(id));
  if (missing.length === 0 || reply.state === "leaf") return reply.items;
  const moved = childrenOf(slot).map((each) => readItems(store, each, missing, refresh));
  return [...reply.items, ...(await Promise.all(moved)).flat()];
}

/** Orders by similarity in a search by meaning, among equal ones by creation. Else by change. The newest are first. */
function isFoundBefore({ row: one }: SearchRow, { row: other }: SearchRow): boolean {
  const [a, b] = [one.score ?? 0, other.score ?? 0];
  return a === b ? one.rank > other.rank : a > b;
}

function toResult({ id: _, ...item }: ReadItem, score: number | null): StoredItem {
  return { ...item, score };
}

function assertRoom(sizes: number[], max_bytes: number): void {
  const bytes = sizes.reduce((sum, size) => sum + size, 0);
  if (bytes <= max_bytes) return;
  const message = `limit: the response has more than ${MAX_ANSWER_BYTES} bytes; use a smaller limit.`;
  throw new StoreRefused({ code: "too_large", message, bytes });
}
