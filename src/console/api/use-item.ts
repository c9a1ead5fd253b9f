import { type ApiQuery, useApiQuery } from "./hooks.ts";
import { isNotFound } from "./not-found.ts";
import type { ApiPath } from "./path.ts";

/** An item of a list, read by itself: the list may not have it, or not its newest state. */
export function useItem<T>(
  path: ApiPath | null,
  listed: T | undefined,
  options: ApiQuery<T>,
): T | undefined {
  const { data, error } = useApiQuery<T>(path, options);
  return isNotFound(error) ? listed : (data ?? listed);
}
