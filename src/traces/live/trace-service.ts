import { assertMay } from "../../shared/auth.ts";
import type { Context } from "../../shared/context.ts";
import { toIso } from "../../shared/times.ts";
import { mapConcurrent } from "../../shared/work/chunks.ts";
import { settingsOfProject } from "../catalogue/projects.ts";
import { expiryTime } from "../catalogue/retention.ts";
import type { PartitionKey } from "../changes.ts";
import { findHomes } from "../ingest/placement.ts";
import { tracePartition } from "../object/stub.ts";
import { assertReadRate } from "../rates.ts";
import { MAX_SPANS, type SpanRow } from "../reads/spans.ts";
import { readTraceCursor, type TraceCursor, writeTraceCursor } from "./cursors.ts";
import { mergeSpans } from "./span-merge.ts";
import { listTree, type PlacedListing } from "./trace-listings.ts";
import type { TraceEnd, TraceSpan } from "./trace-schema.ts";

const AT_ONCE = 25;

/** Yields the runs of a trace in the order of `dotted_order`, then a `TraceEnd`. */
export async function readTrace(
  ctx: Context,
  trace_id: string,
  after: string | undefined,
): Promise<AsyncGenerator<TraceSpan | TraceEnd>> {
  assertMay(ctx, "read");
  assertReadRate(ctx, "query_week");
  const since = after === undefined ? null : readTraceCursor(after, trace_id);
  const home = since?.home ?? (await findHomes(ctx, [{ id: trace_id }])).get(trace_id) ?? null;
  const { listed, isCut, ...position } = await listTree(ctx, trace_id, home, since);
  return linesOf(ctx, listed, { trace_id, home, ...position }, isCut);
}

async function* linesOf(
  ctx: Context,
  listed: PlacedListing[],
  cursor: TraceCursor,
  isCut: boolean,
): AsyncGenerator<TraceSpan | TraceEnd> {
  let run_count = 0;
  for await (const span of mergeSpans(ctx, listed)) {
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
