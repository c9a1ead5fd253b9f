import { and, desc, eq, gt, inArray, isNotNull, isNull, lt, sql } from "drizzle-orm";
import { alias } from "drizzle-orm/sqlite-core";
import type { Context } from "../../shared/context.ts";
import { inWorkspace } from "../../shared/storage/sql.ts";
import { planScan, type ScanChunk, type ScanPlan } from "../../traces/scan/scan-service.ts";
import { bulk_export_files, bulk_exports, type ExportRow } from "../table.ts";

type LateScan = {
  project_id: string;
  filter: string | null;
  max_rows: number;
  max_bytes: number;
  max_seqs: Record<string, number>;
};

/** Statuses of files of a cancelled window whose rows are in no bucket. */
const UNWRITTEN = ["CANCELLED", "FAILED"] as const;

/** `taken`: ids of the files of cancelled windows whose rows are in this plan. */
type LatePlan = ScanPlan & { taken: string[] };

/**
 * Plans rows that arrived for earlier windows after their scan. Also plans the late rows of cancelled windows: a
 * cancellation drops only the rows of the window's own range. Plans nothing for an export without `late_rows`, and for the
 * first window of a schedule.
 */
export async function planLate(
  ctx: Context,
  row: ExportRow,
  { max_seqs, ...scan }: LateScan,
): Promise<LatePlan> {
  const former = row.late_rows ? await windowBefore(ctx, row) : undefined;
  if (former === undefined) return { chunks: [], watermarks: {}, taken: [] };
  const { chunks, watermarks } = await planScan(ctx, {
    ...scan,
    from_us: await firstStart(ctx, row),
    to_us: former.end_us ?? former.start_us,
    min_seqs: former.watermarks ?? {},
    max_seqs,
    // A partition that the window's own scan did not read may have runs of the window's range. They are planned here,
    // because later scans begin at this plan's watermark.
    unlimited_to_us: row.end_us ?? row.start_us,
  });
  const left = await leftByCancelled(ctx, row);
  const all = [...left.map(({ chunk }) => chunk), ...chunks];
  return {
    chunks: all.sort((a, b) => a.from_us - b.from_us),
    watermarks,
    taken: left.map(({ id }) => id),
  };
}

/** Returns the last planned window before this one. `planExport` plans earlier windows first. */
async function windowBefore(ctx: Context, row: ExportRow): Promise<ExportRow | undefined> {
  const [former] = await ctx.db
    .select()
    .from(bulk_exports)
    .where(and(isBefore(row), isNotNull(bulk_exports.planned_at)))
    .orderBy(desc(bulk_exports.window_index))
    .limit(1);
  return former;
}

/**
 * Returns the late files of cancelled windows that no other window has taken, also failed ones: a cancelled window is not
 * retried. With a table, also returns completed files:
 * the table has no rows of a cancelled window. Omits the files of a window when a later window was planned after the
 * cancellation: that window took the files, or an earlier version of Heddle scanned their rows again.
 */
async function leftByCancelled(
  ctx: Context,
  row: ExportRow,
): Promise<{ id: string; chunk: ScanChunk }[]> {
  const later = alias(bulk_exports, "later");
  const isCovered = ctx.db
    .select({ one: sql`1` })
    .from(later)
    .where(
      and(
        eq(later.source_bulk_export_id, bulk_exports.source_bulk_export_id),
        gt(later.window_index, bulk_exports.window_index),
        gt(later.planned_at, bulk_exports.finished_at),
      ),
    );
  return ctx.db
    .select({ id: bulk_export_files.id, chunk: bulk_export_files.chunk })
    .from(bulk_export_files)
    .innerJoin(bulk_exports, eq(bulk_exports.id, bulk_export_files.bulk_export_id))
    .where(
      and(
        inWorkspace(ctx, bulk_exports),
        isBefore(row),
        eq(bulk_exports.status, "CANCELLED"),
        inArray(
          bulk_export_files.status,
          row.table_format === null ? UNWRITTEN : [...UNWRITTEN, "COMPLETED"],
        ),
        isNull(bulk_export_files.run_id),
        gt(bulk_export_files.rows_planned, 0),
        sql`not exists ${isCovered}`,
      ),
    );
}

/** Matches the windows before this one, and nothing for an export that is not a window. */
function isBefore({ source_bulk_export_id, window_index }: ExportRow) {
  return and(
    eq(bulk_exports.source_bulk_export_id, source_bulk_export_id ?? ""),
    lt(bulk_exports.window_index, window_index ?? 0),
  );
}

/** Returns the start of the schedule's first window. */
async function firstStart(ctx: Context, row: ExportRow): Promise<number> {
  const [schedule] = await ctx.db
    .select({ start_us: bulk_exports.start_us })
    .from(bulk_exports)
    .where(eq(bulk_exports.id, row.source_bulk_export_id ?? ""));
  return schedule?.start_us ?? row.start_us;
}
