import { assertMay } from "../../shared/auth.ts";
import type { Context } from "../../shared/context.ts";
import { notFound } from "../../shared/errors.ts";
import { toIso } from "../../shared/times.ts";
import { mapConcurrent } from "../../shared/work/chunks.ts";
import { settingsOfProject } from "../catalogue/projects.ts";
import { expiryTime } from "../catalogue/retention.ts";
import type { PartitionKey } from "../changes.ts";
import { findHomes } from "../ingest/placement.ts";
import { tracePartition } from "../object/stub.ts";
import { assertReadRate } from "../rates.ts";
import { MAX_SPANS, type SpanRow, type TraceListing } from "../reads/spans.ts";
import {
  findCallers,
  MAX_CALLED_TRACES,
  moveBelow,
  type TraceBelow,
} from "../trees/called-traces.ts";
import { partitionsOfTrace } from "../trees/trace-partitions.ts";
import { readTraceCursor, seqKey, type TraceCursor, writeTraceCursor } from "./cursors.ts";
import type { TraceEnd, TraceSpan } from "./trace-schema.ts";

const AT_ONCE = 25;
/** Number of ids in a call. More than fit a page, so that all pages are full: each call sums the trace's usage anew. */
const PAGE_RUNS = 4000;

/** `below`: where a called trace belongs in the trace that is read, `null` for that trace itself. */
type Listed = { partition: PartitionKey; listing: TraceListing; below: TraceBelow | null };

/** Yields the runs of a trace in the order of `dotted_order`, then a `TraceEnd`. Holds one page of each partition. */
export async function readTrace(
  ctx: Context,
  trace_id: string,
  after: string | undefined,
): Promise<AsyncGenerator<TraceSpan | TraceEnd>> {
  assertMay(ctx, "read");
  assertReadRate(ctx, "query_week");
  const since = after === undefined ? null : readTraceCursor(after, trace_id);
  const home = since?.home ?? (await findHomes(ctx, [{ id: trace_id }])).get(trace_id) ?? null;
  const keys = await partitionsOfTrace(ctx, trace_id, home);
  const list = (id: string, since_seqs: TraceCursor["seqs"], below: TraceBelow | null) =>
    mapConcurrent(keys, AT_ONCE, async (partition) => {
      const min_seq = since_seqs[seqKey(partition)] ?? 0;
      const listing = await tracePartition(ctx.env, partition).listTrace(id, min_seq);
      return { partition, listing, below };
    });
  const listed = await list(trace_id, since?.seqs ?? {}, null);
  if (!listed.some(exists)) throw notFound("Trace", trace_id);
  const found = home === null ? [] : listed.flatMap(({ listing }) => listing.called);
  const all = await findCallers(ctx, trace_id, keys, found);
  const called = all.slice(0, MAX_CALLED_TRACES);
  for (const one of called) {
    const seqs = since?.called.includes(one.trace_id) ? since.seqs : {};
    listed.push(...(await list(one.trace_id, seqs, one)));
  }
  const ids = called.map((one) => one.trace_id);
  const cursor = { trace_id, home, seqs: seqsOf(listed), called: ids };
  return linesOf(ctx, listed.filter(exists), cursor, all.length > called.length);
}

function exists({ listing }: Listed): boolean {
  return listing.exists;
}

/**
 * Keeps the first of several listings of a partition, also one that has found no runs: the next request must return what
 * changed after it. Leaves out partitions without runs of any of the traces.
 */
function seqsOf(all: Listed[]): TraceCursor["seqs"] {
  const found = new Set(all.filter(exists).map(({ partition }) => seqKey(partition)));
  const entries = all.map(({ partition, listing }) => [seqKey(partition), listing.seq] as const);
  return Object.fromEntries(entries.reverse().filter(([key]) => found.has(key)));
}

async function* linesOf(
  ctx: Context,
  listed: Listed[],
  cursor: TraceCursor,
  isCut: boolean,
): AsyncGenerator<TraceSpan | TraceEnd> {
  let run_count = 0;
  for await (const span of merge(listed.map((one) => spansOf(ctx, one)))) {
    if (run_count === MAX_SPANS) break;
    run_count += 1;
    yield toSpan(span);
  }
  const found = listed.reduce((sum, { listing }) => sum + listing.ids.length, 0);
  yield {
    cursor: writeTraceCursor(cursor),
    run_count,
    is_truncated: isCut || found > MAX_SPANS,
    project_id: cursor.home?.project_id ?? null,
    expires_at: await expiryOf(
      ctx,
      cursor,
      listed.flatMap(({ partition, below }) => (below === null ? partition : [])),
    ),
  };
}

/** Returns the time from which the day of the root is deleted. A trace is as long-lived as its longest-lived run. */
async function expiryOf(
  ctx: Context,
  { trace_id, home }: TraceCursor,
  keys: PartitionKey[],
): Promise<string | null> {
  if (home === null || (await settingsOfProject(ctx, home.project_id)).is_held) return null;
  const kept = await mapConcurrent(keys, AT_ONCE, (partition) =>
    tracePartition(ctx.env, partition).findLonglived([trace_id]),
  );
  const tier = kept.flat().length > 0 ? "longlived" : "shortlived";
  return expiryTime(ctx.env, tier, home.day);
}

async function* spansOf(
  ctx: Context,
  { partition, listing, below }: Listed,
): AsyncGenerator<SpanRow> {
  const object = tracePartition(ctx.env, partition);
  for (let at = 0; at < listing.ids.length; ) {
    const { spans, read } = await object.readSpans(listing.ids.slice(at, at + PAGE_RUNS));
    yield* below === null ? spans : spans.map((span) => moveBelow(span, below));
    at += read;
  }
}

/** Merges sorted sources. There is one for each partition of the trace and of each called trace. */
async function* merge(sources: AsyncGenerator<SpanRow>[]): AsyncGenerator<SpanRow> {
  const heads = await Promise.all(
    sources.map(async (source) => ({ source, ...(await next(source)) })),
  );
  for (;;) {
    const [first, ...others] = heads.filter(({ span }) => span !== null);
    if (first === undefined) return;
    const least = others.reduce((a, b) => (isBefore(b.span, a.span) ? b : a), first);
    if (least.span !== null) yield least.span;
    Object.assign(least, await next(least.source));
  }
}

async function next(source: AsyncGenerator<SpanRow>): Promise<{ span: SpanRow | null }> {
  const result = await source.next();
  return { span: result.done ? null : result.value };
}

/** Runs without a dotted order come last. */
function isBefore(a: SpanRow | null, b: SpanRow | null): boolean {
  if (a?.dotted_order == null || b?.dotted_order == null) return a?.dotted_order != null;
  return a.dotted_order < b.dotted_order;
}

function toSpan({ start_us, end_us, first_token_us, tags, ...row }: SpanRow): TraceSpan {
  return {
    ...row,
    run_type: row.run_type.toUpperCase(),
    status: row.status.toUpperCase() as TraceSpan["status"],
    start_time: toIso(start_us),
    end_time: end_us === null ? null : toIso(end_us),
    first_token_time: first_token_us === null ? null : toIso(first_token_us),
    is_error_cut: row.is_error_cut === 1,
    tags: tags === null ? [] : JSON.parse(tags),
  };
}
