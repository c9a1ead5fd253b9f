import { and, asc, eq, sql } from "drizzle-orm";
import { assertMay } from "../../shared/auth.ts";
import type { Context } from "../../shared/context.ts";
import { dayOf } from "../../shared/times.ts";
import { mapConcurrent } from "../../shared/work/chunks.ts";
import { areLive } from "../catalogue/catalogue.ts";
import { resolveProject } from "../catalogue/projects.ts";
import { partitions, projects } from "../catalogue/table.ts";
import { tracePartition } from "../object/stub.ts";
import { assertTraceRate } from "../rates.ts";
import type { ScanFilter } from "../reads/scan-runs.ts";
import { toScanFilter } from "./scan-filter.ts";

export type EstimateRequest = {
  project_id: string;
  from_us: number;
  to_us: number;
  filter: string | null;
};
/**
 * `bytes` estimates the size of the rows with their payloads, before compression. `is_exact`: whether the rows of
 * all partitions were counted.
 */
export type Estimate = { rows: number; bytes: number; is_exact: boolean };

/** Maximum number of partitions whose rows are counted. The rows of the others are estimated by the catalogue. */
const MAX_COUNTED = 40;
/** Number of partitions that count at once. */
const WIDTH = 8;

/** Counts the rows of a scan. Of many partitions it counts a sample, evenly spread over time. */
export async function estimateScan(ctx: Context, request: EstimateRequest): Promise<Estimate> {
  assertMay(ctx, "read");
  assertTraceRate(ctx, "read");
  await resolveProject(ctx, request.project_id);
  const filter = toScanFilter(request.project_id, request.filter);
  const found = await partitionsBetween(ctx, request);
  const step = Math.max(1, found.length / MAX_COUNTED);
  const counted = Array.from(
    { length: Math.min(found.length, MAX_COUNTED) },
    (_, n) => found[Math.floor(n * step)],
  ).filter((row) => row !== undefined);
  const counts = await mapConcurrent(counted, WIDTH, (row) => count(ctx, row, request, filter));
  const sample = { rows: 0, bytes: 0 };
  for (const { rows, bytes } of counts) {
    sample.rows += rows;
    sample.bytes += bytes;
  }
  const share = sum(counted) === 0 ? 1 : sum(found) / sum(counted);
  const is_exact = counted.length === found.length;
  if (is_exact) return { ...sample, is_exact };
  return {
    rows: Math.round(sample.rows * share),
    bytes: Math.round(sample.bytes * share),
    is_exact,
  };
}

type PartitionRow = { day: string; slot: number; rows: number };

function partitionsBetween(ctx: Context, { project_id, from_us, to_us }: EstimateRequest) {
  const { day, slot, rows, min_start_us, max_start_us } = partitions;
  const isNear = sql`${day} between ${dayOf(from_us)} and ${dayOf(to_us - 1)}`;
  const isKnown = sql`(${min_start_us} < ${to_us} and ${max_start_us} >= ${from_us})`;
  return ctx.db
    .select({ day, slot, rows })
    .from(partitions)
    .innerJoin(projects, eq(projects.id, partitions.project_id))
    .where(and(areLive(ctx), eq(partitions.project_id, project_id), sql`(${isNear} or ${isKnown})`))
    .orderBy(asc(day), asc(slot));
}

async function count(
  ctx: Context,
  { day, slot }: PartitionRow,
  { project_id, from_us, to_us }: EstimateRequest,
  filter: ScanFilter,
): Promise<{ rows: number; bytes: number }> {
  const whole = { max_rows: Number.MAX_SAFE_INTEGER, max_bytes: Number.MAX_SAFE_INTEGER };
  const range = { from_us, to_us, after: null, min_seq: null, max_seq: null };
  const query = { ...filter, ...whole, ...range };
  const { pieces } = await tracePartition(ctx.env, { project_id, day, slot }).planScan(query);
  return {
    rows: pieces.reduce((total, piece) => total + piece.rows, 0),
    bytes: pieces.reduce((total, piece) => total + piece.bytes, 0),
  };
}

function sum(rows: PartitionRow[]): number {
  return rows.reduce((total, row) => total + row.rows, 0);
}
