// Traces of the runs, and an export of them, read over HTTP while calls of D1 and R2 fail.
import type { StackInfo } from "../../local/stack.ts";
import type { RequestedRun, ThreadCase } from "./cases.ts";
import { attemptsOf, replay } from "./check.ts";
import { pause, Server } from "./server.ts";

type Span = { id: string; trace_id: string; name: string };
type Page = { runs: Span[]; cursors: { next: string | null } };
type Export = {
  id: string;
  status: string;
  error: unknown;
  progress: { rows_written: number } | null;
};

/** Long enough for several failures: a delivery is repeated after 15 seconds, then after pauses that double. */
const TRACES_MS = 120_000;
/** A failed export is resumed by the sweep of each minute. */
const EXPORT_MS = 240_000;
const POLL_MS = 1000;
const DAY_MS = 86_400_000;
const STEPS = ["a", "b", "c"];

type ThreadRun = RequestedRun & { thread_id: string };

/** Returns what is missing, doubled or stuck. `project` is the name of the deployment, whose server is `agent`. */
export async function checkTraces(
  info: StackInfo,
  project: string,
  agent: Server,
  cases: readonly ThreadCase[],
): Promise<string[]> {
  const server = new Server(info.base_url, info.api_key, { hasFaults: true });
  const [session] = await server.json<{ id: string }[]>("GET", `/api/v1/sessions?name=${project}`);
  if (session === undefined) return [`the project ${project} does not exist`];
  const requested = cases.flatMap(({ thread_id, runs }) =>
    runs.map((run) => ({ ...run, thread_id })),
  );
  const uncancelled = requested.filter(({ cancelled }) => cancelled.size === 0);
  const deadline = performance.now() + TRACES_MS;
  for (;;) {
    const spans = await listSpans(server, session.id);
    const checks = await Promise.all(uncancelled.map((run) => checkTrace(agent, run, spans)));
    const findings = [
      ...checks.flat(),
      ...checkSpans(spans, new Set(requested.map(({ run_id }) => run_id))),
    ];
    if (findings.length === 0) return checkExport(server, info, session.id, spans.length);
    if (performance.now() > deadline) return findings;
    await pause(POLL_MS);
  }
}

async function listSpans(server: Server, session_id: string): Promise<Span[]> {
  const spans: Span[] = [];
  const query = { session: [session_id], limit: 100, select: ["id", "trace_id", "name"] };
  let cursor: string | null = null;
  do {
    const page: Page = await server.json("POST", "/api/v1/runs/query", { ...query, cursor });
    spans.push(...page.runs);
    cursor = page.cursors.next;
  } while (cursor !== null);
  return spans;
}

async function checkTrace(
  agent: Server,
  { tag, run_id, thread_id }: ThreadRun,
  spans: readonly Span[],
): Promise<string[]> {
  const own = spans.filter(({ trace_id }) => trace_id === run_id);
  if (own.filter(({ id }) => id === run_id).length !== 1) {
    return [`the trace of ${tag} (${run_id}) is missing: it has ${own.length} spans`];
  }
  const missing = STEPS.filter((step) => !own.some(({ name }) => name === step));
  if (missing.length === 0) return [];
  // An attempt that was lost in its first quarter of a second had not sent spans.
  const events = await replay(agent, `/threads/${thread_id}/runs/${run_id}/stream`);
  const wasLost = attemptsOf(events).length > 1;
  return wasLost ? [] : [`the trace of ${tag} (${run_id}) lacks ${missing}`];
}

/** Finds spans of unknown traces, and spans that are listed twice. */
function checkSpans(spans: readonly Span[], trace_ids: Set<string>): string[] {
  const unexpected = spans.filter(({ trace_id }) => !trace_ids.has(trace_id));
  const doubled = spans.length - new Set(spans.map(({ id }) => id)).size;
  return [
    ...unexpected.map(({ id, trace_id }) => `span ${id} of trace ${trace_id} is of no run`),
    ...(doubled === 0 ? [] : [`${doubled} spans are listed twice`]),
  ];
}

async function checkExport(
  server: Server,
  { s3 }: StackInfo,
  session_id: string,
  span_count: number,
): Promise<string[]> {
  const { bucket: bucket_name, endpoint: endpoint_url, region, ...credentials } = s3;
  const destination = await server.json<{ id: string }>(
    "POST",
    "/api/v1/bulk-exports/destinations",
    {
      destination_type: "s3",
      display_name: "soak",
      config: { bucket_name, endpoint_url, region, prefix: "soak" },
      credentials,
    },
  );
  const today = Math.floor(Date.now() / DAY_MS) * DAY_MS;
  const { id } = await server.json<Export>("POST", "/api/v1/bulk-exports", {
    bulk_export_destination_id: destination.id,
    session_id,
    start_time: new Date(today - DAY_MS).toISOString(),
    end_time: new Date(today + DAY_MS).toISOString(),
  });
  const deadline = performance.now() + EXPORT_MS;
  for (;;) {
    const read = await server.json<Export>("GET", `/api/v1/bulk-exports/${id}`);
    if (read.status === "COMPLETED") {
      const rows = read.progress?.rows_written;
      return rows === span_count ? [] : [`export ${id} has ${rows} rows of ${span_count} spans`];
    }
    if (!["CREATED", "RUNNING"].includes(read.status) || performance.now() > deadline) {
      return [`export ${id} is ${read.status}: ${JSON.stringify(read.error)}`];
    }
    await pause(POLL_MS);
  }
}
