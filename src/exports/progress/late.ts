import { and, asc, eq, isNotNull, lt, sql } from "drizzle-orm";
import type { Context } from "../../shared/context.ts";
import { planScan, type ScanPlan } from "../../traces/scan/scan-service.ts";
import { bulk_exports, type ExportRow } from "../table.ts";

type LateScan = {
  project_id: string;
  filter: string | null;
  max_rows: number;
  max_bytes: number;
  max_seqs: Record<string, number>;
};

type Piece = { from_us: number; to_us: number; min_seqs: Record<string, number> };

/** Plans rows of earlier windows that arrived after their scan. */
export async function planLate(
  ctx: Context,
  row: ExportRow,
  { max_seqs, ...scan }: LateScan,
): Promise<ScanPlan> {
  const late: ScanPlan = { chunks: [], watermarks: {} };
  if (!row.late_rows) return late;
  for (const piece of await piecesBefore(ctx, row)) {
    const seen = { ...late.watermarks, ...max_seqs };
    const { chunks, watermarks } = await planScan(ctx, { ...scan, ...piece, max_seqs: seen });
    late.chunks.push(...chunks);
    Object.assign(late.watermarks, watermarks);
  }
  late.chunks.sort((a, b) => a.from_us - b.from_us);
  return late;
}

/**
 * Returns the watermarks of earlier windows. A cancelled window covers only its own range: it never
 * carried late rows of others.
 */
async function piecesBefore(ctx: Context, row: ExportRow): Promise<Piece[]> {
  const windows = await windowsBefore(ctx, row);
  const first_us = await firstStart(ctx, row);
  return windows.map(({ status, start_us, end_us, watermarks }) => ({
    from_us: status === "CANCELLED" ? start_us : first_us,
    to_us: end_us ?? start_us,
    min_seqs: watermarks ?? {},
  }));
}

/** Returns the last window that was not cancelled, and later ones. */
async function windowsBefore(ctx: Context, row: ExportRow): Promise<ExportRow[]> {
  const { source_bulk_export_id, window_index } = row;
  if (source_bulk_export_id === null || window_index === null) return [];
  return ctx.db
    .select()
    .from(bulk_exports)
    .where(
      and(
        eq(bulk_exports.source_bulk_export_id, source_bulk_export_id),
        lt(bulk_exports.window_index, window_index),
        isNotNull(bulk_exports.planned_at),
        sql`${bulk_exports.window_index} >= coalesce((select max(w.window_index) from ${bulk_exports} w
          where w.source_bulk_export_id = ${source_bulk_export_id}
            and w.window_index < ${window_index} and w.status <> 'CANCELLED'), 0)`,
      ),
    )
    .orderBy(asc(bulk_exports.window_index));
}

async function firstStart(ctx: Context, row: ExportRow): Promise<number> {
  const [schedule] = await ctx.db
    .select({ start_us: bulk_exports.start_us })
    .from(bulk_exports)
    .where(eq(bulk_exports.id, row.source_bulk_export_id ?? ""));
  return schedule?.start_us ?? row.start_us;
}
