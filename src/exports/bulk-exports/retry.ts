import { and, eq, inArray, sql } from "drizzle-orm";
import type { Context } from "../../shared/context.ts";
import { inWorkspace } from "../../shared/storage/sql.ts";
import { MAX_RETRIES_PER_FILE } from "../limits.ts";
import { bulk_export_files, bulk_exports, type ExportRow } from "../table.ts";

const { retry_number, bulk_export_id, status } = bulk_export_files;

/** An export that failed, and its files that did, as if they were new; undefined when another was quicker. */
export async function resetForRetry(ctx: Context, row: ExportRow): Promise<ExportRow | undefined> {
  const again = { updated_at: new Date().toISOString(), next_attempt_at: null, finished_at: null };
  const isAgain = and(
    eq(bulk_export_id, row.id),
    sql`exists (select 1 from ${bulk_exports} where id = ${row.id} and status = 'CREATED')`,
  );
  const [changed] = await ctx.db.batch([
    ctx.db
      .update(bulk_exports)
      .set({ ...again, status: "CREATED", error: null, started_at: null, cleaned_at: null })
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
        ...again,
        status: "WAITING",
        sent_at: null,
        retry_number: sql`${retry_number} + 1`,
        retry_limit: sql`${retry_number} + 1 + ${MAX_RETRIES_PER_FILE}`,
      })
      .where(and(isAgain, inArray(status, ["FAILED", "TIMEDOUT"]))),
    // Objects may since be missing from the bucket.
    ctx.db
      .update(bulk_export_files)
      .set({ retry_limit: sql`${retry_number} + ${MAX_RETRIES_PER_FILE}` })
      .where(and(isAgain, eq(status, "COMPLETED"))),
  ]);
  return changed[0];
}
