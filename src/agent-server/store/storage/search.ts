import { allows, type Filters } from "../../../shared/filters.ts";
import type { FoundRow, NamespacesOp, SearchOp } from "./calls.ts";
import { matches } from "./filter.ts";
import type { FoundItem, Items } from "./items.ts";
import type { Vectors } from "./vectors.ts";

type Reader = { now: number; filters: Filters | null };
type Ranked = Omit<FoundRow, "bytes">;

/** Searches the items of one object. */
export class ItemSearch {
  readonly #items: Items;
  readonly #vectors: Vectors;

  constructor(items: Items, vectors: Vectors) {
    this.#items = items;
    this.#vectors = vectors;
  }

  bytesOf(id: number): number {
    return this.#items.bytesOf(id);
  }

  namespaces(op: NamespacesOp, { now, filters }: Reader, after: string[] | null = null) {
    const all = this.#items.namespaces(op, now, after);
    return page(all, op, (namespace) => allows(filters, { namespace }));
  }

  /** Returns the items of a page. `after`: the last item of the page before. */
  find(op: SearchOp, { now, filters }: Reader, after: FoundRow | null = null): Ranked[] {
    const { vector, prefix, offset, limit } = op;
    const isWanted = ({ id }: { id: number }) => this.#isMatch(id, op.filter, filters);
    if (!vector) {
      const found = page(this.#items.newest(prefix, now, after?.rank), op, isWanted);
      return found.map(({ id, seq }) => ({ id, rank: seq, score: null }));
    }
    const last = after && { id: after.id, score: after.score ?? 0 };
    const scope = { prefix, now, count: offset + limit, after: last };
    const nearest = this.#vectors.nearest(vector, scope, (id) => isWanted({ id })).slice(offset);
    return nearest.map(({ id, score }) => ({ id, rank: id, score }));
  }

  #isMatch(id: number, filter: Record<string, unknown> | null, filters: Filters | null): boolean {
    const isAny = !filter || Object.keys(filter).length === 0;
    if (isAny && !filters) return true;
    const item = this.#items.byId(id);
    if (item === null || !isVisible(item, filters)) return false;
    return isAny || matches(JSON.parse(item.value), filter);
  }
}

/** Applies authorization filters to the fields of the value, the namespace and the key, like LangGraph's own server. */
export function isVisible(
  { namespace, key, value }: Pick<FoundItem, "namespace" | "key" | "value">,
  filters: Filters | null,
): boolean {
  return filters === null || allows(filters, { ...JSON.parse(value), namespace, key });
}

function page<T>(
  all: Iterable<T>,
  { offset, limit }: { offset: number; limit: number },
  isWanted: (one: T) => boolean,
): T[] {
  const found: T[] = [];
  let passed = 0;
  for (const one of all) {
    if (!isWanted(one)) continue;
    if (passed++ < offset) continue;
    found.push(one);
    if (found.length === limit) break;
  }
  return found;
}
