import { and, eq, sql } from "drizzle-orm";
import { assertMay } from "../../shared/auth.ts";
import type { Context } from "../../shared/context.ts";
import { notFound } from "../../shared/errors.ts";
import { DAY_US, dayOf, nowMicros, toIso, toMicros } from "../../shared/times.ts";
import { mapConcurrent } from "../../shared/work/chunks.ts";
import { dayOfId, livePartitions } from "../catalogue/catalogue.ts";
import { settingsOfProject } from "../catalogue/projects.ts";
import { expiryTime } from "../catalogue/retention.ts";
import { partitions } from "../catalogue/table.ts";
import type { Home, PartitionKey } from "../changes.ts";
import { findHomes } from "../ingest/placement.ts";
import { tracePartition } from "../object/stub.ts";
import { assertReadRate } from "../rates.ts";
import { MAX_SPANS, type SpanRow, type TraceListing } from "../reads/spans.ts";
import { readTraceCursor, seqKey, type TraceCursor, writeTraceCursor } from "./cursors.ts";
import type { TraceEnd, TraceSpan } from "./trace-schema.ts";

/** Number of days after its root in which a pending trace is searched. */
const MAX_DAYS = 31;
const AT_ONCE = 25;
/** More than fit a page of `readSpans`, which sums the usage of the whole trace. */
const PAGE_RUNS = 4000;

type Listed = { partition: PartitionKey; listing: TraceListing };

/** Reads a trace in the order of `dotted_order`, one page of each partition in memory. */
export async function readTrace(
  ctx: Context,
  trace_id: string,
  cursor: string | undefined,
): Promise<AsyncGenerator<TraceSpan | TraceEnd>> {
  assertMay(ctx, "read");
  assertReadRate(ctx, "query_week");
  const since = cursor === undefined ? null : readTraceCursor(cursor, trace_id);
  const home = since?.home ?? (await findHomes(ctx, [{ id: trace_id }])).get(trace_id) ?? null;
  const keys = await partitionsOfTrace(ctx, trace_id, home);
  const listed = await mapConcurrent(keys, AT_ONCE, async (partition) => {
    const min_seq = since?.seqs[seqKey(partition)] ?? 0;
    return {
      partition,
      listing: await tracePartition(ctx.env, partition).listTrace(trace_id, min_seq),
    };
  });
  const ours = listed.filter(({ listing }) => listing.exists);
  if (ours.length === 0) throw notFound("Trace", trace_id);
  const seqs = ours.map(({ partition, listing }) => [seqKey(partition), listing.seq]);
  return linesOf(ctx, ours, { trace_id, home, seqs: Object.fromEntries(seqs) });
}

async function* linesOf(
  ctx: Context,
  listed: Listed[],
  cursor: TraceCursor,
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
    is_truncated: found > MAX_SPANS,
    project_id: cursor.home?.project_id ?? null,
    expires_at: await expiryOf(
      ctx,
      cursor,
      listed.map(({ partition }) => partition),
    ),
  };
}

/** A trace is as long-lived as its longest-lived run. Its days are deleted one by one, from the root's on. */
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

async function* spansOf(ctx: Context, { partition, listing }: Listed): AsyncGenerator<SpanRow> {
  const object = tracePartition(ctx.env, partition);
  for (let at = 0; at < listing.ids.length; ) {
    const { spans, read } = await object.readSpans(listing.ids.slice(at, at + PAGE_RUNS));
    yield* spans;
    at += read;
  }
}

/** Merges sorted sources. A trace has one source for each day and slot. */
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

/** Returns partitions from the day before the root until the day after its end. */
async function partitionsOfTrace(
  ctx: Context,
  trace_id: string,
  home: Home | null,
): Promise<PartitionKey[]> {
  const day = home?.day ?? dayOfId(trace_id);
  if (day === null) return [];
  const midnight = toMicros(`${day}T00:00:00Z`) ?? 0;
  const end_us = home === null ? null : await endOf(ctx, trace_id, home);
  const last_us = Math.min((end_us ?? nowMicros()) + DAY_US, midnight + MAX_DAYS * DAY_US);
  const isNear = sql`${partitions.day} between ${dayOf(midnight - DAY_US)} and ${dayOf(last_us)}`;
  const isOurs = home === null ? undefined : eq(partitions.project_id, home.project_id);
  return livePartitions(ctx, and(isOurs, isNear));
}

async function endOf(ctx: Context, trace_id: string, home: Home): Promise<number | null> {
  const isHome = and(eq(partitions.project_id, home.project_id), eq(partitions.day, home.day));
  const keys = await livePartitions(ctx, isHome);
  const reads = await mapConcurrent(keys, AT_ONCE, (partition) =>
    tracePartition(ctx.env, partition).getRuns([trace_id], ["id", "end_us"]),
  );
  return reads.flatMap(({ runs }) => runs)[0]?.end_us ?? null;
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
