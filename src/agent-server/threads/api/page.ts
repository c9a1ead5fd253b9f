export type Page<T> = { rows: T[]; headers: Record<string, string> };

/** `rows` has one row more than the page when a next page exists. */
export function toPage<T>(rows: T[], { limit, offset }: { limit: number; offset: number }) {
  const shown = rows.slice(0, limit);
  const next = offset + limit;
  const headers: Record<string, string> =
    rows.length > limit
      ? { "X-Pagination-Next": String(next), "X-Pagination-Total": String(next + 1) }
      : { "X-Pagination-Total": String(offset + shown.length) };
  return { rows: shown, headers } satisfies Page<T>;
}

/** Selects fields. No fields means all. */
export function pick<T extends object>(resource: T, fields: readonly string[] | undefined) {
  if (!fields || fields.length === 0) return resource as Partial<T>;
  return Object.fromEntries(
    Object.entries(resource).filter(([field]) => fields.includes(field)),
  ) as Partial<T>;
}
