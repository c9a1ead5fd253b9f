import { and, eq, inArray, sql } from "drizzle-orm";
import type { Context } from "../../shared/context.ts";
import { inWorkspace } from "../../shared/storage/sql.ts";
import { MAX_RETRIES_PER_FILE } from "../limits.ts";
import { bulk_export_files, bulk_exports, type ExportRow } from "../table.ts";

const { retry_number, bulk_export_id, status } = bulk_export_files;

/**
 * Resets an export that failed or timed out, and its files that failed or timed out. Compare-and-set on the status.
 * @returns `undefined` when another request has reset it
 */
export async function resetForRetry(ctx: Context, row: ExportRow): Promise<ExportRow | undefined> {
  const reset = { updated_at: new Date().toISOString(), next_attempt_at: null, finished_at: null };
  // The first statement of the batch has set CREATED.
  const isOfResetExport = and(
    eq(bulk_export_id, row.id),
    sql`exists (select 1 from ${bulk_exports} where id = ${row.id} and status = 'CREATED')`,
  );
  const [changed] = await ctx.db.batch([
    ctx.db
      .update(bulk_exports)
      .set({ ...reset, status: "CREATED", error: null, started_at: null, cleaned_at: null })
      .where(
        and(
          eq(bulk_exports.id, row.id),
          inWorkspace(ctx, bulk_exports),
          eq(bulk_exports.status, row.status),
        ),
      )
      .returning(),
    ctx.db
      .update(bulk_export_files)
      .set({
        ...reset,
        status: "WAITING",
        sent_at: null,
        retry_number: sql`${retry_number} + 1`,
        retry_limit: sql`${retry_number} + 1 + ${MAX_RETRIES_PER_FILE}`,
      })
      .where(and(isOfResetExport, inArray(status, ["FAILED", "TIMEDOUT"]))),
    // A completed file needs retries too: the final check writes it again when its object is missing or changed.
    ctx.db
      .update(bulk_export_files)
      .set({ retry_limit: sql`${retry_number} + ${MAX_RETRIES_PER_FILE}` })
      .where(and(isOfResetExport, eq(status, "COMPLETED"))),
  ]);
  return changed[0];
}
