import { and, eq, gt } from "drizzle-orm";
import { assertQuota, EXPORT_METERS } from "../../control-plane/quotas/quota-service.ts";
import type { Context } from "../../shared/context.ts";
import { AppError } from "../../shared/errors.ts";
import { inWorkspace } from "../../shared/storage/sql.ts";
import { MAX_CREATES_PER_HOUR, MAX_SCHEDULES } from "../limits.ts";
import { bulk_exports } from "../table.ts";
import { listExportUsage } from "./export-usage-service.ts";
import type { NewExport } from "./new-export.ts";

const HOUR_MS = 3_600_000;

/** Refuses new exports and retries when a quota of exported rows or bytes is used up. Exports in progress continue. */
export function assertExportQuota(ctx: Context): Promise<void> {
  return assertQuota(ctx, EXPORT_METERS, listExportUsage);
}

/** Limits the exports that are created in a rolling hour, windows of schedules included, and the active schedules. */
export async function assertRoom(ctx: Context, bulkExport: NewExport): Promise<void> {
  const now = new Date();
  const made = await countCreates(ctx, now);
  if (made.count >= MAX_CREATES_PER_HOUR) {
    const retry_after_seconds = Math.max(1, Math.ceil((made.room_at_ms - now.getTime()) / 1000));
    const text = `The limit of ${MAX_CREATES_PER_HOUR} exports per hour is reached: retry in ${retry_after_seconds} s.`;
    throw new AppError("rate_limited", text, { retry_after_seconds });
  }
  if (bulkExport.interval_hours === null) return;
  const schedules = await ctx.db.$count(
    bulk_exports,
    and(inWorkspace(ctx, bulk_exports), eq(bulk_exports.status, "INTERVAL_SCHEDULED")),
  );
  if (schedules < MAX_SCHEDULES) return;
  const text = `The limit of ${MAX_SCHEDULES} active schedules is reached: cancel one first.`;
  throw new AppError("conflict", text);
}

/** Counts the exports created in the last hour, up to the limit. `room_at_ms` is when the oldest leaves that hour. */
export async function countCreates(
  ctx: Context,
  now: Date,
): Promise<{ count: number; room_at_ms: number }> {
  const since = new Date(now.getTime() - HOUR_MS).toISOString();
  const rows = await ctx.db
    .select({ created_at: bulk_exports.created_at })
    .from(bulk_exports)
    .where(and(inWorkspace(ctx, bulk_exports), gt(bulk_exports.created_at, since)))
    .orderBy(bulk_exports.created_at)
    .limit(MAX_CREATES_PER_HOUR);
  const oldest = rows[0]?.created_at;
  return { count: rows.length, room_at_ms: oldest ? Date.parse(oldest) + HOUR_MS : now.getTime() };
}
