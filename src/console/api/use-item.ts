import { type ApiQuery, useApiQuery } from "./hooks.ts";
import { isNotFound } from "./not-found.ts";
import type { ApiPath } from "./path.ts";

/**
 * Reads one item of a list: the list may lack it, or have an older state of it.
 * @param listed the item of the list, which is returned before the first successful read, and when the item is not
 * found
 */
export function useItem<T>(
  path: ApiPath | null,
  listed: T | undefined,
  options: ApiQuery<T>,
): T | undefined {
  const { data, error } = useApiQuery<T>(path, options);
  return isNotFound(error) ? listed : (data ?? listed);
}
