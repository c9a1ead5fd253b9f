import { useApiQuery } from "../api/hooks.ts";
import { apiPath } from "../api/path.ts";

/** Ids that Heddle writes into the metadata of an agent's traces. Other programs may write any value there. */
type TraceMetadata = {
  deployment_id?: unknown;
  revision_id?: unknown;
  thread_id?: unknown;
  /** Trace of the program that called the agent, as 32 hexadecimal digits. */
  otel_trace_id?: unknown;
};

type Answer = { extra?: { metadata?: TraceMetadata } | null };

const POLL_MS = 3000;

/** Polls until the trace of the run is received. @returns `undefined` before that */
export function useTraceMetadata(run_id: string | undefined): TraceMetadata | undefined {
  const path = run_id === undefined ? null : apiPath`/api/v2/runs/${run_id}`;
  const { data } = useApiQuery<Answer>(path, {
    query: { selects: "EXTRA" },
    poll: (answer) => (answer === undefined ? POLL_MS : false),
  });
  return data?.extra?.metadata;
}

/** Returns the search parameters that list the traces of a thread in the last 30 days. */
export function tracesOfThread(project: string, thread_id: string) {
  return { project, q: `eq(thread_id, ${JSON.stringify(thread_id)})`, range: "30d" as const };
}
