import { mergeSources, type PageSource, takePage } from "../../../shared/storage/merge.ts";
import type { DirectoryPage } from "./calls.ts";
import type { DirectoryQuery, DirectoryRow } from "./search.ts";

/** Metadata of one answer. An RPC message has at most 32 MiB, in which a character has up to two bytes. */
const MAX_PAGE_CHARACTERS = 4 * 1024 * 1024;
/** Maximum rows, without metadata, that an object returns to a search of several objects. */
const MAX_ROWS = 5000;

export type SlotRow = DirectoryRow & { slot: number };
type Page = DirectoryPage & { slot: number };
type FindPage = (slot: number, query: DirectoryQuery) => Promise<Page>;

/** Returns the query for each object: any object may have all rows up to the end of the page. */
export function firstPage({ limit, offset = 0, ...query }: DirectoryQuery): DirectoryQuery {
  return { ...query, with_metadata: false, limit: Math.min(offset + limit, MAX_ROWS), offset: 0 };
}

/** Merges the rows of all objects in the order of the query. `pages`: the first pages. `find` reads the next ones. */
export function mergePages(
  pages: Page[],
  query: DirectoryQuery,
  find: FindPage,
): Promise<SlotRow[]> {
  const first = firstPage(query);
  const toSource = ({ rows, slot }: Page, offset = first.limit): PageSource<SlotRow> => ({
    rows: rows.map((row) => ({ ...row, slot })),
    next:
      rows.length < first.limit
        ? null
        : async () => toSource(await find(slot, { ...first, offset }), offset + first.limit),
  });
  const sources = pages.map((page) => toSource(page));
  return takePage(mergeSources(sources, orderOf(query)), query);
}

/** Orders rows as SQL does: `null` is the least value, and ids decide among equal values. Ids grow with creation. */
function orderOf({ sort_by = "created_at", sort_order = "desc" }: DirectoryQuery) {
  const sign = sort_order === "asc" ? 1 : -1;
  // Values are times, ids and statuses, which are never empty.
  const keyOf = (row: DirectoryRow) => (sort_by === "created_at" ? "" : (row[sort_by] ?? ""));
  return (one: DirectoryRow, other: DirectoryRow) => {
    const [a, b] = [keyOf(one), keyOf(other)];
    if (a === b) return sign * (one.id - other.id) < 0;
    return sort_order === "asc" ? a < b : a > b;
  };
}

/** Returns the rows that fit into one answer, at least one. */
export function toPage(found: Iterable<DirectoryRow>): Omit<DirectoryPage, "generation"> {
  const rows: DirectoryRow[] = [];
  let left = MAX_PAGE_CHARACTERS;
  for (const row of found) {
    if (rows.length > 0 && left < (row.metadata?.length ?? 0)) return { rows, isCut: true };
    left -= row.metadata?.length ?? 0;
    rows.push(row);
  }
  return { rows, isCut: false };
}
