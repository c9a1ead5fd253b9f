import { and, asc, eq, sql } from "drizzle-orm";
import { assertMay } from "../../shared/auth.ts";
import type { Context } from "../../shared/context.ts";
import { inWorkspace } from "../../shared/storage/sql.ts";
import { DAY_US, dayOf } from "../../shared/times.ts";
import { mapConcurrent } from "../../shared/work/chunks.ts";
import { findProject, resolveProject } from "../catalogue/projects.ts";
import { partitions } from "../catalogue/table.ts";
import type { PartitionKey } from "../changes.ts";
import { tracePartition } from "../object/stub.ts";
import type { ScanPlanQuery } from "../reads/scan.ts";
import type { R2Payload } from "../reads/scan-page.ts";
import type { ScanFilter } from "../reads/scan-runs.ts";
import type {
  PageRequest,
  ScanChunk,
  ScanColumns,
  ScanPage,
  ScanPart,
  ScanPlan,
  ScanRequest,
  ScanValue,
} from "../reads/scan-types.ts";
import { isPacked, unpackTexts } from "../rows/packed-texts.ts";
import { loadText } from "../rows/payloads.ts";
import { feedbackStats, toColumns } from "./part-columns.ts";
import { toScanFilter } from "./scan-filter.ts";

export type {
  PageRequest,
  Position,
  ScanChunk,
  ScanColumn,
  ScanPage,
  ScanPart,
  ScanPlan,
  ScanRange,
  ScanRequest,
  ScanValue,
} from "../reads/scan-types.ts";

/** Limit of a page without its feedback, unless it has one row only. A message of RPC holds 32 MiB. */
const MAX_PAGE_BYTES = 12 * 1024 * 1024;
/**
 * Maximum number of reads of a page with missing payloads. A run is deleted before its payloads, so the next read does
 * not return the run.
 */
const MAX_READS = 3;
/** Number of partitions that plan at once. */
const WIDTH = 8;

/**
 * Plans a consistent snapshot: non-empty chunks in order of time, none across a UTC midnight of start_us. `watermarks`:
 * the sequence of each partition up to which its runs are in the snapshot.
 */
export async function planScan(ctx: Context, request: ScanRequest): Promise<ScanPlan> {
  assertMay(ctx, "read");
  await findProject(ctx, request.project_id);
  const filter = toScanFilter(request.project_id, request.filter);
  const keys = await partitionsOf(ctx, request);
  const chunks: ScanChunk[] = [];
  const watermarks: Record<string, number> = {};
  const plans = await mapConcurrent(keys, WIDTH, (partition) =>
    planPartition(ctx, partition, { ...request, ...filter }),
  );
  for (const { key, max_seq, chunks: planned } of plans) {
    watermarks[key] = max_seq;
    chunks.push(...planned);
  }
  return { chunks: chunks.sort((a, b) => a.from_us - b.from_us), watermarks };
}

/** Returns one page of a chunk as columns. `next` is `null` at the chunk's end. */
export async function scanChunk(
  ctx: Context,
  chunk: ScanChunk,
  request: PageRequest,
): Promise<ScanPage> {
  assertMay(ctx, "read");
  await resolveProject(ctx, chunk.partition.project_id);
  for (let reads = 1; ; reads++) {
    const { isComplete, ...page } = await readChunk(ctx, chunk, request);
    if (isComplete || reads === MAX_READS) return page;
  }
}

async function readChunk(
  ctx: Context,
  chunk: ScanChunk,
  { columns, filter, after, max_bytes }: PageRequest,
): Promise<ScanPage & { isComplete: boolean }> {
  const { partition } = chunk;
  const kept = columns.filter((name) => name !== "feedback_stats");
  const read = await tracePartition(ctx.env, partition).scan({
    ...toScanFilter(partition.project_id, filter),
    ...rangeOf(chunk),
    after: after ?? chunk.after,
    columns: kept,
    with_feedback: columns.includes("feedback_stats"),
    max_bytes: Math.min(max_bytes, MAX_PAGE_BYTES),
  });
  const parts: ScanPart[] = [];
  let isComplete = true;
  for (const part of read.parts) {
    const found = toColumns(part, kept);
    if (!(await loadR2Payloads(ctx, partition, part.far, found))) isComplete = false;
    if (columns.includes("feedback_stats"))
      found.feedback_stats = feedbackStats(part, read.annotations);
    parts.push({ rows: part.rows, columns: found });
  }
  return { parts, next: read.next, isComplete };
}

type PartitionRequest = ScanFilter & Omit<ScanRequest, "filter">;

async function planPartition(ctx: Context, partition: PartitionKey, request: PartitionRequest) {
  const { from_us, to_us, max_rows, max_bytes, project_id, filter } = request;
  const { min_seqs, max_seqs, unlimited_to_us = to_us } = request;
  const key = `${partition.day}/${partition.slot}`;
  const limit = max_seqs?.[key] ?? null;
  const query: Omit<ScanPlanQuery, "after" | "max_seq"> = {
    ...{ from_us, max_rows, max_bytes, project_id, filter },
    to_us: limit === null ? unlimited_to_us : to_us,
    scan_range: { from_us, to_us },
    min_seq: min_seqs?.[key] ?? null,
  };
  const object = tracePartition(ctx.env, partition);
  let plan = await object.planScan({ ...query, after: null, max_seq: limit });
  const { max_seq } = plan;
  const pieces = [...plan.pieces];
  while (plan.next !== null) {
    plan = await object.planScan({ ...query, after: plan.next, max_seq });
    pieces.push(...plan.pieces);
  }
  return { key, max_seq, chunks: pieces.map((piece) => ({ partition, ...piece })) };
}

/**
 * Includes the neighbouring days: a patch may move a run's start across midnight, and the range in the catalogue is
 * seconds behind. Includes all partitions with an upper sequence too: later scans omit their runs up to it.
 */
async function partitionsOf(ctx: Context, { project_id, from_us, to_us, max_seqs }: ScanRequest) {
  const { day, slot, min_start_us, max_start_us } = partitions;
  const isNear = sql`${day} between ${dayOf(from_us - DAY_US)} and ${dayOf(to_us + DAY_US)}`;
  const isKnown = sql`${min_start_us} < ${to_us} and ${max_start_us} >= ${from_us}`;
  const named = JSON.stringify(Object.keys(max_seqs ?? {}));
  const isNamed = sql`${day} || '/' || ${slot} in (select value from json_each(${named}))`;
  return ctx.db
    .select({ project_id: partitions.project_id, day, slot })
    .from(partitions)
    .where(
      and(
        eq(partitions.project_id, project_id),
        inWorkspace(ctx, partitions),
        sql`(${isNear} or (${isKnown}) or ${isNamed})`,
      ),
    )
    .orderBy(asc(day), asc(slot));
}

function rangeOf({ from_us, to_us, until, min_seq, max_seq, scan_range }: ScanChunk) {
  return { from_us, to_us, until, min_seq, max_seq, scan_range };
}

/** Fetches one payload at a time to bound memory by the page size. Returns whether all of them exist. */
async function loadR2Payloads(
  ctx: Context,
  { project_id }: PartitionKey,
  far: R2Payload[],
  columns: ScanColumns,
): Promise<boolean> {
  let isComplete = true;
  for (const { column, index, key } of far) {
    const text = await loadText(ctx.env, key);
    if (text === null) {
      // Throws when the project was deleted, which deletes its payloads.
      await findProject(ctx, project_id);
      isComplete = false;
    }
    const found = columns[column] ?? [];
    const values = isPacked(found) ? unpackTexts(found) : Array.from<ScanValue>(found);
    values[index] = text;
    columns[column] = values;
  }
  return isComplete;
}
