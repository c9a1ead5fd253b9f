import { assertMay } from "../../shared/auth.ts";
import type { Context } from "../../shared/context.ts";
import { invalid } from "../../shared/errors.ts";
import { decodeCursor, encodeCursor } from "../../shared/http/cursor.ts";
import { DAY_US, nowMicros, toIso } from "../../shared/times.ts";
import { mapConcurrent } from "../../shared/work/chunks.ts";
import type { JsonObject } from "../json.ts";
import { findPage } from "../query/query-service.ts";
import { assertReadRate } from "../rates.ts";
import { findThreads, GROUPS_AT_ONCE, type TraceThread, toGroup } from "../stats/group-service.ts";
import { toTraceStats } from "../stats/run-stats.ts";
import { RunTotals, TIMES } from "../totals.ts";
import {
  type OneThreadStatsQuery,
  type ThreadStatsRequest,
  ThreadsPage,
  type ThreadsQueryRequest,
  type ThreadTracesQuery,
} from "./thread-schema.ts";

const PREVIEW_CHARS = 1000;

/**
 * Position of a page. `end_time` and `max_seq` leave out later traces, which would move threads between pages. A sequence is
 * a time, in microseconds.
 */
type Cursor = { offset: number; end_time: number; max_seq: number | null };

export async function queryThreads(ctx: Context, input: ThreadsQueryRequest): Promise<ThreadsPage> {
  assertMay(ctx, "read");
  assertReadRate(ctx, "query_longer");
  const first = { offset: 0, end_time: input.max_start_time ?? nowMicros(), max_seq: null };
  const cursor = input.cursor ? readCursor(input.cursor) : first;
  const threads = await findThreads(ctx, {
    ...windowOf({ ...input, max_start_time: cursor.end_time }),
    max_seq: cursor.max_seq,
  });
  // Taken after the read: a trace that was stored during it may be on this page, so further pages must count it too.
  const max_seq = cursor.max_seq ?? nowMicros();
  const offset = cursor.offset + input.page_size;
  const page = threads.slice(cursor.offset, offset);
  const has_more = offset < threads.length;
  return ThreadsPage.parse({
    items: await mapConcurrent(page, GROUPS_AT_ONCE, (thread) => toItem(ctx, thread)),
    has_more,
    next_cursor: has_more ? writeCursor({ ...cursor, offset, max_seq }) : null,
  });
}

async function toItem(ctx: Context, thread: TraceThread) {
  const { total_cost, ...group } = await toGroup(ctx, thread);
  return {
    ...group,
    trace_id: thread.last.id,
    first_trace_id: thread.first.id,
    last_trace_id: thread.last.id,
    num_errored_turns: thread.totals.errors,
    start_time: group.max_start_time,
    total_cost: toNumber(total_cost),
  };
}

/** Returns the root runs of a thread, the oldest first. */
export async function listThreadTraces(
  ctx: Context,
  thread_id: string,
  { project_id, filter, selects, page_size, ...query }: ThreadTracesQuery,
) {
  const wanted = selects && new Set(["trace_id", ...selects.map((name) => name.toLowerCase())]);
  const payloads = (["inputs", "outputs"] as const).filter(
    (name) => wanted?.has(name) || wanted?.has(`${name}_preview`),
  );
  const { runs, next } = await findPage(ctx, {
    ...query,
    session: [project_id],
    filter,
    search_filter: ofThread(thread_id),
    is_root: true,
    order: "asc",
    limit: page_size,
    select: [...TRACE_FIELDS, ...payloads],
  });
  const items = runs.map((run) => {
    const item = Object.entries(toTrace(run));
    return Object.fromEntries(item.filter(([name]) => wanted === undefined || wanted.has(name)));
  });
  return { items, has_more: next !== null, next_cursor: next };
}

const TRACE_FIELDS = [
  ...["thread_id", "trace_id", "name", "start_time", "end_time", "latency", "first_token_time"],
  ...["error", "prompt_tokens", "completion_tokens", "total_tokens"],
  ...["prompt_cost", "completion_cost", "total_cost"],
];

function toTrace({ id: _, ...run }: JsonObject): JsonObject {
  const { inputs, outputs, error, prompt_cost, completion_cost, total_cost } = run;
  return {
    ...run,
    prompt_cost: toNumber(prompt_cost),
    completion_cost: toNumber(completion_cost),
    total_cost: toNumber(total_cost),
    error_preview: typeof error === "string" ? error.slice(0, PREVIEW_CHARS) : null,
    ...(inputs === undefined ? {} : { inputs_preview: preview(inputs) }),
    ...(outputs === undefined ? {} : { outputs_preview: preview(outputs) }),
  };
}

/** Selected statistics to whose names the answer adds `_seconds`. */
const IN_SECONDS = /^(latency|first_token)_p\d+$/;

/** Counts all traces of the thread, whatever their time. */
export async function getThreadStats(
  ctx: Context,
  thread_id: string,
  { session_id, filter, selects }: OneThreadStatsQuery,
): Promise<JsonObject> {
  assertMay(ctx, "read");
  assertReadRate(ctx, "query_longer");
  const query = { session: [session_id], filter, search_filter: ofThread(thread_id) };
  const [thread] = await findThreads(ctx, query);
  if (!thread) return pick({ turns: 0 }, selects);
  const all = {
    ...statsOf(thread.totals),
    turns: thread.totals.runs,
    first_start_time: toIso(thread.first.start_us),
    last_start_time: toIso(thread.last.start_us),
  };
  return pick(all, selects);
}

export async function getThreadsStats(
  ctx: Context,
  input: ThreadStatsRequest,
): Promise<JsonObject> {
  assertMay(ctx, "read");
  assertReadRate(ctx, "query_longer");
  const threads = await findThreads(ctx, windowOf(input));
  const totals = new RunTotals(TIMES);
  for (const thread of threads) totals.merge(thread.totals.toData());
  const all = { ...statsOf(totals), thread_count: threads.length, trace_count: totals.runs };
  return pick(all, input.select);
}

function statsOf(totals: RunTotals) {
  const stats = toTraceStats(totals, []);
  return {
    ...stats,
    latency_p50_seconds: stats.latency_p50,
    latency_p99_seconds: stats.latency_p99,
    first_token_p50_seconds: stats.first_token_p50,
    first_token_p99_seconds: stats.first_token_p99,
    total_cost: toNumber(stats.total_cost),
    prompt_cost: toNumber(stats.prompt_cost),
    completion_cost: toNumber(stats.completion_cost),
  };
}

function pick(fields: JsonObject, names: string[]): JsonObject {
  const lower = names.map((name) => name.toLowerCase());
  const wanted = new Set(lower.map((name) => name.replace(IN_SECONDS, "$&_seconds")));
  return Object.fromEntries(Object.entries(fields).filter(([name]) => wanted.has(name)));
}

type Window = Omit<ThreadStatsRequest, "select">;

function windowOf({ project_id, min_start_time, max_start_time, ...filters }: Window) {
  return {
    ...filters,
    session: [project_id],
    start_time: min_start_time ?? nowMicros() - DAY_US,
    end_time: max_start_time,
  };
}

function ofThread(thread_id: string): string {
  return `eq(thread_id, ${JSON.stringify(thread_id)})`;
}

function preview(value: unknown): string {
  return JSON.stringify(value ?? null).slice(0, PREVIEW_CHARS);
}

function toNumber(cost: unknown): number | null {
  return typeof cost === "string" ? Number(cost) : null;
}

function writeCursor({ offset, end_time, max_seq }: Cursor): string {
  return encodeCursor({ o: offset, e: end_time, w: max_seq });
}

function readCursor(text: string): Cursor {
  // Cursors of earlier versions have no `w`.
  const { o, e, w = null } = decodeCursor(text);
  const isValid = [o, e, w ?? 0].every(Number.isSafeInteger) && Number(o) >= 0;
  if (isValid)
    return { offset: Number(o), end_time: Number(e), max_seq: w === null ? null : Number(w) };
  throw invalid(["body", "cursor"], "is invalid; send the cursor of the previous page, or none");
}
