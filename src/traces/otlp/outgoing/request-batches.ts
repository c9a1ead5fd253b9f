import type { Context } from "../../../shared/context.ts";
import { AppError } from "../../../shared/errors.ts";
import { type CallerSpan, parseTraceparent } from "../../../shared/metrics/trace-context.ts";
import { PAYLOADS, type PayloadName } from "../../changes.ts";
import type { RunsQueryRequest } from "../../query/query-schema.ts";
import { type FoundRuns, findPage } from "../../query/query-service.ts";
import type { OtlpSpan } from "../span.ts";
import { encodeSpans } from "./encode.ts";
import { SPAN_FIELDS, toSpan } from "./from-run.ts";

const FIELDS = ["id", "trace_id", "name", "run_type", "start_time", ...SPAN_FIELDS];
const SMALL_FIELDS = FIELDS.filter((name) => !PAYLOADS.includes(name as PayloadName));
const PAGE = 100;
const TOO_LARGE = "The payloads of this run are too large to be sent.";
/** Size in bytes above which a request is split. */
const MAX_BYTES = 4 * 1024 * 1024;

/** Yields the bodies of the requests that send a stored trace. Holds one page of runs in memory. */
export async function* requestBodies(
  ctx: Context,
  trace_id: string,
  resource: Record<string, string>,
): AsyncGenerator<Uint8Array<ArrayBuffer>> {
  const caller = await callerOf(ctx, trace_id);
  let cursor: string | undefined;
  do {
    const query = { trace: trace_id, select: FIELDS, limit: PAGE, order: "asc" as const, cursor };
    const { runs, next } = await findPayloads(ctx, query);
    const spans = runs.map((run) => toSpan(run, caller));
    yield* split(spans, new Map(Object.entries(resource)));
    cursor = next ?? undefined;
  } while (cursor !== undefined);
}

/** Returns a page. When its payloads exceed an answer, returns its first run alone, with a note instead of them. */
async function findPayloads(ctx: Context, query: RunsQueryRequest): Promise<FoundRuns> {
  try {
    return await findPage(ctx, query);
  } catch (error) {
    if (AppError.from(error).code !== "too_large") throw error;
    const { runs, next } = await findPage(ctx, { ...query, select: SMALL_FIELDS, limit: 1 });
    return { runs: runs.map((run) => ({ ...run, inputs: { left_out: TOO_LARGE } })), next };
  }
}

/** Returns the span of the program that called the agent, `null` when the root of the trace names none. */
async function callerOf(ctx: Context, trace_id: string): Promise<CallerSpan | null> {
  const { runs } = await findPage(ctx, { id: [trace_id], select: ["extra"], limit: 1 });
  const { otel_trace_id, otel_parent_span_id } = Object(Object(runs[0]?.extra).metadata);
  return parseTraceparent(`00-${otel_trace_id}-${otel_parent_span_id}-01`);
}

/** Halves the spans until a body fits a request. A span that is too large by itself is sent alone. */
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
