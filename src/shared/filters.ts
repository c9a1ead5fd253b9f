/** Filters on the metadata of rows, or on the namespace, the key and the fields of store items. Every key must match. */
export type Filters = Record<string, Filter>;

type Scalar = string | number | boolean | null;
type Filter = { eq: Scalar } | { contains: Scalar[] };

/** `null` matches all rows. */
export function allows(filters: Filters | null, metadata: Record<string, unknown>): boolean {
  return Object.entries(filters ?? {}).every(([key, filter]) => {
    const value = Object.hasOwn(metadata, key) ? metadata[key] : undefined;
    if ("eq" in filter) return value === filter.eq;
    return Array.isArray(value) && filter.contains.every((wanted) => value.includes(wanted));
  });
}
