import {
  type UseMutationResult,
  type UseQueryOptions,
  type UseQueryResult,
  useMutation,
  useQueries,
  useQuery,
  useQueryClient,
} from "@tanstack/react-query";
import { useParams } from "@tanstack/react-router";
import { type CallOptions, call } from "./client.ts";

/** Id of the workspace in the address. */
export function useWorkspaceId(): string {
  const { workspace } = useParams({ strict: false });
  if (workspace === undefined) throw new Error("This page is below no workspace");
  return workspace;
}

type ApiQuery<T> = {
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

/** Reads from the API in this workspace. Lists and details of one path share a cache entry. */
export function useApiQuery<T>(path: string, options: ApiQuery<T> = {}): UseQueryResult<T> {
  return useQuery<T>(toQuery(useWorkspaceId(), { ...options, path }));
}

/** Reads several paths at once, as for each item of a list. */
export function useApiQueries<T>(reads: (ApiQuery<T> & { path: string })[]): UseQueryResult<T>[] {
  const workspace = useWorkspaceId();
  return useQueries({ queries: reads.map((read) => toQuery(workspace, read)) });
}

function toQuery<T>(workspace: string, read: ApiQuery<T> & { path: string }): UseQueryOptions<T> {
  const { path, query, post, headers, poll = false, enabled = true, keepPrevious = false } = read;
  return {
    queryKey: [workspace, path, query ?? null, post ?? null],
    queryFn: ({ signal }) =>
      call<T>(path, {
        workspace,
        signal,
        ...(query && { query }),
        ...(headers && { headers }),
        ...(post !== undefined && { method: "POST", body: post }),
      }),
    enabled,
    refetchInterval: typeof poll === "function" ? ({ state }) => poll(state.data) : poll,
    ...(keepPrevious && { placeholderData: (former: T | undefined) => former as never }),
  };
}

type Change<V> = {
  method?: CallOptions["method"];
  path: string | ((variables: V) => string);
  body?: (variables: V) => unknown;
  /** Prefixes of paths whose reads are stale after the change. */
  invalidates?: string[];
};

/** Changes something by the API. The page shows the work and waits: nothing is assumed before the answer. */
export function useApiChange<V = void, T = unknown>(
  change: Change<V>,
): UseMutationResult<T, Error, V> {
  const workspace = useWorkspaceId();
  const invalidate = useInvalidate();
  const { method = "POST", path, body, invalidates = [] } = change;
  return useMutation<T, Error, V>({
    mutationFn: (variables) =>
      call<T>(typeof path === "function" ? path(variables) : path, {
        method,
        workspace,
        ...(body && { body: body(variables) }),
      }),
    onSettled: () => Promise.all(invalidates.map(invalidate)),
  });
}

/** @returns a function that reads everything below a path again */
export function useInvalidate(): (prefix: string) => Promise<void> {
  const client = useQueryClient();
  const workspace = useWorkspaceId();
  return (prefix) =>
    client.invalidateQueries({
      predicate: ({ queryKey: [id, path] }) => id === workspace && String(path).startsWith(prefix),
    });
}
