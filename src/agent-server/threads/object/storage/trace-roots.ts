import type { RunCall } from "../../../../isolate/contract.ts";
import type { TraceOp } from "../../../../isolate/trace-contract.ts";
import { type HiddenFields, withoutHidden } from "../../../../isolate/tracing/hidden-fields.ts";
import { parseTraceparent, traceparentOf } from "../../../../shared/metrics/trace-context.ts";
import type { StoredRun } from "../../contract/stored-run.ts";

/** State of a trace that is not complete. */
export type OpenTrace = {
  /** Start of the first attempt as an ISO string. */
  start_time: string;
  project_name: string | null;
  /** Whether the root run is in the outbox or delivered. */
  hasRoot: boolean;
  /** `dotted_order` of the runs that have begun and not ended, by id. */
  open: Record<string, string>;
};

/** Limit of `open`, which shares a row with the run. Runs over the limit stay open when their isolate is lost. */
const MAX_OPEN_CHARACTERS = 256 * 1024;

export function beginTrace({ kwargs }: StoredRun, start_time: string): OpenTrace {
  const name = kwargs.config.configurable?.langsmith_project;
  return {
    start_time,
    project_name: typeof name === "string" ? name : null,
    hasRoot: false,
    open: {},
  };
}

/** Adds what the run's isolate has sent to the outbox: runs that begin, and, with `open: null`, runs that end. */
export function advanceTrace(run_id: string, trace: OpenTrace, ops: TraceOp[]): OpenTrace {
  const openRuns = new Map(Object.entries(trace.open));
  let characters = [...openRuns].reduce((sum, entry) => sum + entry.join("").length, 0);
  for (const { id, open: dotted_order } of ops) {
    characters -= openRuns.has(id) ? id.length + (openRuns.get(id) ?? "").length : 0;
    openRuns.delete(id);
    if (dotted_order === null) continue;
    // Always keeps the root: `endTrace` ends it when the isolate is lost.
    const size = id.length + dotted_order.length;
    if (id !== run_id && characters + size > MAX_OPEN_CHARACTERS) continue;
    openRuns.set(id, dotted_order);
    characters += size;
  }
  return {
    ...trace,
    open: Object.fromEntries(openRuns),
    hasRoot: trace.hasRoot || ops.some(({ id }) => id === run_id),
  };
}

/** The first and only segment: `YYYYMMDDTHHMMSSffffffZ` and the run's id. */
function dottedOrder(run_id: string, { start_time }: OpenTrace): string {
  return `${start_time.replace(/[-:.]/g, "").replace("Z", "000Z")}${run_id}`;
}

export function toTrace(run: StoredRun, trace: OpenTrace): RunCall["trace"] {
  const { start_time } = trace;
  const dotted_order = dottedOrder(run.run_id, trace);
  const root_metadata = rootMetadataOf(run, trace);
  const caller = callerOf(run);
  return {
    ...{ start_time, dotted_order, metadata: idsOf(run), root_metadata },
    ...(caller && { traceparent: traceparentOf(caller, run.run_id) }),
  };
}

/**
 * `queue_wait_ms`: time from the run's due time, which is its `created_at`, to its first attempt. Other runs of its thread
 * may run in that time.
 */
function rootMetadataOf(run: StoredRun, { start_time }: OpenTrace) {
  const queue_wait_ms = Math.max(0, Date.parse(start_time) - Date.parse(run.created_at));
  return { queue_wait_ms, ...callerSpanOf(run) };
}

/** Names the span of the program whose request created the run. */
function callerSpanOf(run: StoredRun) {
  const caller = callerOf(run);
  if (caller === null) return {};
  return { otel_trace_id: caller.trace_id, otel_parent_span_id: caller.span_id };
}

function callerOf({ kwargs }: StoredRun) {
  return parseTraceparent(kwargs.config.configurable?.traceparent);
}

function idsOf({ thread_id, run_id, assistant_id, graph_id, revision }: StoredRun) {
  const { deployment_id, revision_id } = revision;
  return { thread_id, run_id, assistant_id, graph_id, deployment_id, revision_id };
}

/** Ends the open runs of a lost attempt. The next attempt continues the root. */
export function endAttempt(run_id: string, trace: OpenTrace, now: string): TraceOp[] {
  const lost = Object.entries(trace.open).filter(([id]) => id !== run_id);
  return lost.map(([id, dotted_order]) => {
    const error = "Interrupted: its process ended.";
    return toOp("patch", trace, { id, trace_id: run_id, dotted_order, end_time: now, error });
  });
}

/** Fields of a root when the agent's environment, which names the hidden ones, is not known. */
const ALL_HIDDEN: HiddenFields = { inputs: true, outputs: true, metadata: true };

/** Ends all open runs of a trace whose isolate is lost. `hidden`: fields to leave out of a root that has not been sent. */
export function endTrace(
  run: StoredRun,
  trace: OpenTrace,
  hidden: HiddenFields = ALL_HIDDEN,
): TraceOp[] {
  const now = new Date().toISOString();
  const { run_id } = run;
  const ops = endAttempt(run_id, trace, now);
  if (trace.hasRoot && !(run_id in trace.open)) return ops;
  const end = {
    id: run_id,
    trace_id: run_id,
    dotted_order: dottedOrder(run_id, trace),
    end_time: now,
    ...(run.status !== "success" && { error: errorOf(run) }),
  };
  if (trace.hasRoot) return [...ops, toOp("patch", trace, end)];
  return [...ops, toOp("post", trace, { ...rootOf(run, trace, hidden), ...end })];
}

function rootOf(run: StoredRun, trace: OpenTrace, hidden: HiddenFields) {
  const { graph_id: name, kwargs } = run;
  const { input, config } = kwargs;
  const given = {
    inputs: typeof input === "object" && !Array.isArray(input) ? (input ?? {}) : { input },
    extra: { metadata: config.metadata },
  };
  const { inputs, extra } = withoutHidden(given, hidden) as typeof given;
  const metadata = { ...extra.metadata, ...idsOf(run), ...rootMetadataOf(run, trace) };
  const { start_time } = trace;
  return { name, run_type: "chain", start_time, inputs, tags: config.tags, extra: { metadata } };
}

function errorOf({ error, status, cancel_reason }: StoredRun): string {
  return error?.message ?? cancel_reason ?? `The run ended as ${status}.`;
}

function toOp(kind: TraceOp["kind"], trace: OpenTrace, run: Record<string, unknown>): TraceOp {
  const name = trace.project_name;
  const data = JSON.stringify({ ...run, ...(name !== null && { session_name: name }) });
  return { op: "trace", kind, id: String(run.id), open: null, data };
}
