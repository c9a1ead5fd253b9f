import {
  type UseMutationResult,
  type UseQueryResult,
  useMutation,
  useQuery,
  useQueryClient,
} from "@tanstack/react-query";
import { useParams } from "@tanstack/react-router";
import { type CallOptions, call, readWith } from "./client.ts";
import type { ApiPath } from "./path.ts";

/** Id of the workspace in the address. */
export function useWorkspaceId(): string {
  const { workspace } = useParams({ strict: false });
  if (workspace === undefined) throw new Error("This page is below no workspace");
  return workspace;
}

export type ApiQuery<T> = {
  query?: CallOptions["query"];
  /** A read with a body, as the searches are. */
  post?: unknown;
  headers?: Record<string, string>;
  /** Milliseconds between two polls, or `false`. Polling stops while the page is hidden. */
  poll?: number | false | ((data: T | undefined) => number | false);
  enabled?: boolean;
  /** Shows the former page of a list while the next one loads. */
  keepPrevious?: boolean;
};

/**
 * Reads from the API in this workspace. Components that read the same path, query and body share a cache entry.
 * @param path `null` while the path is not known: nothing is read
 */
export function useApiQuery<T>(path: ApiPath | null, options: ApiQuery<T> = {}): UseQueryResult<T> {
  const workspace = useWorkspaceId();
  const { query, post, headers, poll = false, enabled = true, keepPrevious = false } = options;
  return useQuery<T>({
    queryKey: [workspace, path, query ?? null, post ?? null],
    queryFn: ({ signal }) => {
      if (path === null) throw new Error("A query without a path is not enabled");
      const call_options = {
        workspace,
        signal,
        ...(query && { query }),
        ...(headers && { headers }),
      };
      return post === undefined
        ? call<T>(path, call_options)
        : readWith<T>(path, post, call_options);
    },
    enabled: enabled && path !== null,
    refetchInterval: typeof poll === "function" ? ({ state }) => poll(state.data) : poll,
    ...(keepPrevious && { placeholderData: (former: T | undefined) => former as never }),
  });
}

type Change<V> = {
  method?: CallOptions["method"];
  path: ApiPath | ((variables: V) => ApiPath);
  query?: (variables: V) => NonNullable<CallOptions["query"]>;
  body?: (variables: V) => unknown;
  headers?: (variables: V) => Record<string, string>;
  /** Prefixes of paths whose reads are stale after the change. */
  invalidates?: string[];
};

/** Changes something through the API. Pages show a change only after the response: there are no optimistic updates. */
export function useApiChange<V = void, T = unknown>(
  change: Change<V>,
): UseMutationResult<T, Error, V> {
  const workspace = useWorkspaceId();
  const invalidate = useInvalidate();
  const { method = "POST", path, query, body, headers, invalidates = [] } = change;
  return useMutation<T, Error, V>({
    mutationFn: (variables) =>
      call<T>(typeof path === "function" ? path(variables) : path, {
        method,
        workspace,
        ...(query && { query: query(variables) }),
        ...(body && { body: body(variables) }),
        ...(headers && { headers: headers(variables) }),
      }),
    onSettled: () => Promise.all(invalidates.map(invalidate)),
  });
}

/** @returns a function that reads everything again whose path begins with the given one */
export function useInvalidate(): (prefix: string) => Promise<void> {
  const client = useQueryClient();
  const workspace = useWorkspaceId();
  return (prefix) =>
    client.invalidateQueries({
      predicate: ({ queryKey: [id, path] }) => id === workspace && String(path).startsWith(prefix),
    });
}
