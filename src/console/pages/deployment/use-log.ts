import { type UseQueryResult, useQuery, useQueryClient } from "@tanstack/react-query";
import type { LogPage } from "../../../control-plane/deployments/logs/log-schema.ts";
import { call } from "../../api/client.ts";
import { useWorkspaceId } from "../../api/hooks.ts";
import type { LogEntry } from "../../ui/log-view.tsx";

export type LogTail = { lines: LogEntry[]; next_offset: string | null; dropped: number };

export type LogSource = {
  path: string;
  filter: { query?: string; level?: string; start_time?: string; end_time?: string };
  poll: number | false;
};

const PAGE = 1000;
const PAGES_PER_READ = 10;
/** Lines that a page keeps; older ones are counted and dropped. */
const MAX_LINES = 20_000;

/** Reads a log from its first line and appends what is new. A `null` offset ends it. */
export function useLog({ path, filter, poll }: LogSource): UseQueryResult<LogTail> {
  const client = useQueryClient();
  const workspace = useWorkspaceId();
  const queryKey = [workspace, path, "log", filter];
  return useQuery<LogTail>({
    queryKey,
    queryFn: async ({ signal }) => {
      let tail = client.getQueryData<LogTail>(queryKey);
      if (tail?.next_offset === null) return tail;
      for (let read = 0; read < PAGES_PER_READ; read += 1) {
        const body = { ...filter, limit: PAGE, order: "asc", offset: tail?.next_offset ?? null };
        const page = await call<LogPage>(path, { method: "POST", body, workspace, signal });
        tail = append(tail, page);
        if (page.logs.length < PAGE || page.next_offset === null) return tail;
      }
      return tail ?? { lines: [], next_offset: null, dropped: 0 };
    },
    refetchInterval: ({ state }) => (state.data?.next_offset === null ? false : poll),
    structuralSharing: false,
  });
}

function append(tail: LogTail | undefined, { logs, next_offset }: LogPage): LogTail {
  const { lines = [], dropped = 0 } = tail ?? {};
  if (tail && logs.length === 0) return { ...tail, next_offset };
  const first = (lines.at(-1)?.number ?? dropped) + 1;
  const added = logs.map((line, index) => ({ ...line, number: first + index }));
  const all = [...lines, ...added];
  const surplus = Math.max(0, all.length - MAX_LINES);
  return { lines: all.slice(surplus), next_offset, dropped: dropped + surplus };
}

export function buildLogPath(deployment_id: string, revision_id: string): string {
  return `/v1/projects/${deployment_id}/revisions/${revision_id}/build_logs`;
}

export function serverLogPath(deployment_id: string, revision_id: string): string {
  return `/v1/projects/${deployment_id}/revisions/${revision_id}/deploy_logs`;
}
