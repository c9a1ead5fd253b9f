import { type UseQueryResult, useQuery, useQueryClient } from "@tanstack/react-query";
import type { TraceEnd, TraceSpan } from "../../traces/live/trace-schema.ts";
import { send } from "../api/client.ts";
import { useWorkspaceId } from "../api/hooks.ts";
import { apiPath } from "../api/path.ts";

export type TraceData = { spans: TraceSpan[]; root: TraceSpan | null; end: TraceEnd };

const RUNNING_POLL_MS = 2000;
const LATE_POLL_MS = 5000;
/** How long after the end of its root a trace is still polled: spans can arrive late. */
const LATE_MS = 60_000;

/**
 * Reads a trace, and then only the spans that changed.
 * @param onRead called with the number of lines that were read so far
 */
export function useTrace(
  trace_id: string,
  { isPaused, onRead }: { isPaused: boolean; onRead?: (count: number) => void },
): UseQueryResult<TraceData> {
  const client = useQueryClient();
  const workspace = useWorkspaceId();
  const queryKey = [workspace, apiPath`/api/v2/traces/${trace_id}/runs`];
  return useQuery<TraceData>({
    queryKey,
    queryFn: async ({ signal }) => {
      const former = client.getQueryData<TraceData>(queryKey);
      const response = await send(apiPath`/api/v2/traces/${trace_id}/runs`, {
        workspace,
        signal,
        query: { cursor: former?.end.cursor },
      });
      return readTrace(response, former, onRead);
    },
    refetchInterval: ({ state }) => (isPaused ? false : pollOf(state.data)),
    staleTime: LATE_POLL_MS,
    // Comparing all spans of a large trace after each read would block the page.
    structuralSharing: false,
  });
}

async function readTrace(
  response: Response,
  former: TraceData | undefined,
  onRead: ((count: number) => void) | undefined,
): Promise<TraceData> {
  const lines: (TraceSpan | TraceEnd)[] = [];
  for await (const some of readJsonLines<TraceSpan | TraceEnd>(response)) {
    for (const line of some) lines.push(line);
    onRead?.(lines.length);
  }
  const end = lines.pop();
  if (end === undefined || !("run_count" in end)) {
    throw new Error("The answer ended before its last line.");
  }
  const spans = lines as TraceSpan[];
  if (former && spans.length === 0) return { ...former, end };
  const all = former ? merge(former.spans, spans) : spans;
  return { spans: all, root: all.find(({ parent_run_id }) => parent_run_id === null) ?? null, end };
}

function merge(former: TraceSpan[], changed: TraceSpan[]): TraceSpan[] {
  const byId = new Map(former.map((span) => [span.id, span]));
  for (const span of changed) byId.set(span.id, span);
  return [...byId.values()];
}

function pollOf(data: TraceData | undefined): number | false {
  if (data === undefined) return LATE_POLL_MS;
  if (isRunning(data)) return RUNNING_POLL_MS;
  return Date.now() - endOf(data) < LATE_MS ? LATE_POLL_MS : false;
}

/** A trace without its root is still arriving. */
export function isRunning({ root }: TraceData): boolean {
  return root === null || root.status === "PENDING";
}

function endOf({ root }: TraceData): number {
  return Date.parse(root?.end_time ?? root?.start_time ?? "");
}

/** Parses lines of JSON as they arrive, those of a chunk at once. */
async function* readJsonLines<T>(response: Response): AsyncGenerator<T[]> {
  if (response.body === null) return;
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { done, value = "" } = await reader.read();
    const lines = (rest + value).split("\n");
    rest = done ? "" : (lines.pop() ?? "");
    yield lines.filter((line) => line !== "").map((line) => JSON.parse(line) as T);
    if (done) return;
  }
}
