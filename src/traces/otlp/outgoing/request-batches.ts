import type { Context } from "../../../shared/context.ts";
import { type CallerSpan, parseTraceparent } from "../../../shared/metrics/trace-context.ts";
import { findPage } from "../../query/query-service.ts";
import type { OtlpSpan } from "../span.ts";
import { encodeSpans } from "./encode.ts";
import { SPAN_FIELDS, toSpan } from "./from-run.ts";

const FIELDS = ["id", "trace_id", "name", "run_type", "start_time", ...SPAN_FIELDS];
const PAGE = 100;
/** Limit of a request: receivers accept at least so much. */
const MAX_BYTES = 4 * 1024 * 1024;

/** Yields the bodies of the requests that send a stored trace, one page of runs in memory. */
export async function* requestBodies(
  ctx: Context,
  trace_id: string,
  resource: Record<string, string>,
): AsyncGenerator<Uint8Array<ArrayBuffer>> {
  const caller = await callerOf(ctx, trace_id);
  let cursor: string | undefined;
  do {
    const query = { trace: trace_id, select: FIELDS, limit: PAGE, order: "asc" as const, cursor };
    const { runs, next } = await findPage(ctx, query);
    const spans = runs.map((run) => toSpan(run, caller));
    yield* split(spans, new Map(Object.entries(resource)));
    cursor = next ?? undefined;
  } while (cursor !== undefined);
}

/** Returns the span of the program that called the agent, which the root of the trace names. */
async function callerOf(ctx: Context, trace_id: string): Promise<CallerSpan | null> {
  const { runs } = await findPage(ctx, { id: [trace_id], select: ["extra"], limit: 1 });
  const { otel_trace_id, otel_parent_span_id } = Object(Object(runs[0]?.extra).metadata);
  return parseTraceparent(`00-${otel_trace_id}-${otel_parent_span_id}-01`);
}

/** Halves pages that are too large. A span that is too large by itself is sent alone. */
function* split(
  spans: OtlpSpan[],
  resource: Map<string, unknown>,
): Generator<Uint8Array<ArrayBuffer>> {
  if (spans.length === 0) return;
  const body = encodeSpans(resource, "heddle", spans);
  if (body.byteLength <= MAX_BYTES || spans.length === 1) {
    yield body;
    return;
  }
  const half = Math.ceil(spans.length / 2);
  yield* split(spans.slice(0, half), resource);
  yield* split(spans.slice(half), resource);
}
