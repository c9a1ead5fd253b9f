export type Page<T> = { rows: T[]; headers: Record<string, string> };

/** Returns the page of rows and its headers. `rows` has one row more than the page when a next page exists. */
export function toPage<T>(rows: T[], { limit, offset }: { limit: number; offset: number }) {
  const shown = rows.slice(0, limit);
  const next = offset + limit;
  // The total is a lower bound while a next page exists, as in LangGraph's API.
  const headers: Record<string, string> =
    rows.length > limit
      ? { "X-Pagination-Next": String(next), "X-Pagination-Total": String(next + 1) }
      : { "X-Pagination-Total": String(offset + shown.length) };
  return { rows: shown, headers } satisfies Page<T>;
}
