/** Returns the named fields of a resource, or all when no field is named. */
export function pickFields<T extends object>(resource: T, fields: readonly string[] | undefined) {
  if (!fields || fields.length === 0) return resource as Partial<T>;
  return Object.fromEntries(
    Object.entries(resource).filter(([field]) => fields.includes(field)),
  ) as Partial<T>;
}
