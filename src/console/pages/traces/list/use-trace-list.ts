import {
  type InfiniteData,
  keepPreviousData,
  useInfiniteQuery,
  useQuery,
  useQueryClient,
} from "@tanstack/react-query";
import { useMemo } from "react";
import type { RunChanges } from "../../../../traces/live/changes-schema.ts";
import type { RunsPage } from "../../../../traces/query/query-schema.ts";
import { readWith } from "../../../api/client.ts";
import { useApiQuery, useWorkspaceId } from "../../../api/hooks.ts";
import { apiPath } from "../../../api/path.ts";
import { fromV2, SELECT, type SearchPage, type TraceListRow, toStoppedPage } from "./trace-row.ts";

export const PAGE = 100;
const POLL_MS = 5000;
const CHANGES_PAGE = 500;
/** Number of pages of changes that one poll reads after the first one: there may be many after the page was hidden. */
const MAX_MORE = 9;
/** Maximum number of changed runs that are kept beside the list. */
const MAX_CHANGED = 2000;

export type ListQuery = {
  project: string;
  filter?: string | undefined;
  is_root?: true | undefined;
  start_time: string;
  end_time?: string | undefined;
};

/** Reads the list in pages by cursor, the newest run first. */
export function useTraceList({ project, ...body }: ListQuery, isReady: boolean) {
  const client = useQueryClient();
  const workspace = useWorkspaceId();
  const queryKey = [workspace, apiPath`/api/v1/runs/query`, project, body];
  type Pages = InfiniteData<SearchPage, string | null>;
  const list = useInfiniteQuery<SearchPage, Error, Pages, unknown[], string | null>({
    queryKey,
    queryFn: ({ pageParam, signal }) =>
      readWith<SearchPage>(
        apiPath`/api/v1/runs/query`,
        { ...body, session: [project], limit: PAGE, select: SELECT, cursor: pageParam },
        { workspace, signal },
      ).catch(toStoppedPage),
    initialPageParam: null,
    getNextPageParam: ({ cursors }) => cursors.next,
    placeholderData: keepPreviousData,
    enabled: isReady,
    staleTime: 30_000,
  });
  /** Drops all pages but the first before the list is read again: each page may take the time limit of a search. */
  const cutToFirstPage = () =>
    client.setQueryData<Pages>(
      queryKey,
      (former) =>
        former && { pages: former.pages.slice(0, 1), pageParams: former.pageParams.slice(0, 1) },
    );
  return { list, cutToFirstPage };
}

/**
 * With a filter, reads the listed runs again that were running: the changes omit a run that no longer matches, such as
 * one that has ended.
 */
export function useRunning(
  { project, filter }: ListQuery,
  listed: TraceListRow[],
  isLive: boolean,
): [string, TraceListRow][] {
  const running = listed.filter(({ end_time }) => end_time === null).slice(0, PAGE);
  const id = running.map((row) => row.id);
  const { data } = useApiQuery<RunsPage>(apiPath`/api/v1/runs/query`, {
    post: { session: [project], id, limit: PAGE, select: SELECT },
    enabled: filter !== undefined && id.length > 0,
    poll: isLive && POLL_MS,
  });
  return (data?.runs as TraceListRow[] | undefined)?.map((row) => [row.id, row]) ?? [];
}

type Changes = { cursor: string; changed: Map<string, TraceListRow> };

/**
 * Reads the runs that are new or changed since the list was read. Its first read gets the cursor, before the list is
 * read, so that no change is missed.
 */
export function useTraceChanges(
  { project, filter, is_root, start_time }: ListQuery,
  isLive: boolean,
) {
  const client = useQueryClient();
  const workspace = useWorkspaceId();
  const body = { project_id: project, filter, is_root };
  const queryKey = [workspace, apiPath`/api/v2/runs/changes`, body];
  const query = useQuery<Changes>({
    queryKey,
    queryFn: async ({ signal }) => {
      const former = client.getQueryData<Changes>(queryKey);
      let cursor = former?.cursor;
      let changed = [...(former?.changed ?? [])];
      for (let pages = 0; ; pages += 1) {
        const page = await readWith<RunChanges>(
          apiPath`/api/v2/runs/changes`,
          { ...body, selects: SELECT, page_size: CHANGES_PAGE, cursor },
          { workspace, signal },
        );
        cursor = page.next_cursor;
        const rows = page.items.map(fromV2).map((row): [string, TraceListRow] => [row.id, row]);
        changed = [...changed, ...rows].slice(-MAX_CHANGED);
        if (!page.has_more || pages === MAX_MORE) return { cursor, changed: new Map(changed) };
      }
    },
    refetchInterval: isLive ? POLL_MS : false,
    structuralSharing: false,
  });
  const reset = () =>
    client.setQueryData<Changes>(queryKey, (former) => former && { ...former, changed: new Map() });
  const changed = useMemo(
    () =>
      new Map([...(query.data?.changed ?? [])].filter(([, row]) => row.start_time >= start_time)),
    [query.data, start_time],
  );
  return { query, changed, reset };
}
