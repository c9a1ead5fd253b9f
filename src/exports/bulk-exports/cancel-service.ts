import { and, eq, inArray, isNull, sql } from "drizzle-orm";
import type { Context } from "../../shared/context.ts";
import { AppError } from "../../shared/errors.ts";
import { DATABASE_TIME, inWorkspace, ownRow } from "../../shared/storage/sql.ts";
import { assertMayExport } from "../access.ts";
import { sendExports } from "../messages.ts";
import type { BulkExport } from "../schema.ts";
import { isCancellable, isFinal } from "../states.ts";
import { bulk_export_files, bulk_exports, type ExportRow } from "../table.ts";
import { findExport, toSingleBulkExport } from "./service.ts";

/** Cancels at once. Running files stop at their next heartbeat, and the clean-up aborts their uploads. */
export async function cancelBulkExport(ctx: Context, id: string): Promise<BulkExport> {
  assertMayExport(ctx, "end");
  const row = await findExport(ctx, id);
  if (row.status === "CANCELLED") return toSingleBulkExport(ctx, row);
  const now = new Date().toISOString();
  // The time of the commit by the clock of the database: plans of later windows compare theirs with it.
  const ended = { status: "CANCELLED", updated_at: now, finished_at: DATABASE_TIME } as const;
  // A schedule has nothing to clean up: only its windows upload files.
  const cleaned_at = row.interval_hours !== null && row.end_us === null ? now : null;
  const mayEnd = (["CREATED", "RUNNING", "INTERVAL_SCHEDULED"] as const).filter(isCancellable);
  const [changed] = await ctx.db.batch([
    ctx.db
      .update(bulk_exports)
      .set({ ...ended, error: null, cleaned_at })
      .where(
        and(
          ownRow(ctx, bulk_exports, id),
          inArray(bulk_exports.status, mayEnd),
          isNull(bulk_exports.table_version),
        ),
      )
      .returning(),
    ctx.db
      .update(bulk_export_files)
      .set({ ...ended, rows_written: 0, bytes_written: 0 })
      .where(
        and(
          eq(bulk_export_files.bulk_export_id, id),
          inWorkspace(ctx, bulk_export_files),
          inArray(bulk_export_files.status, ["WAITING", "RUNNING"]),
          exportHasStatus(id, "CANCELLED"),
        ),
      ),
  ]);
  const [cancelled] = changed;
  if (!cancelled) return toSingleBulkExport(ctx, await findCancelled(ctx, id));
  await sendExports(ctx.env, [id]);
  return toSingleBulkExport(ctx, cancelled);
}

/** Returns an export that a concurrent request has cancelled. @throws AppError `conflict` for others */
async function findCancelled(ctx: Context, id: string): Promise<ExportRow> {
  const row = await findExport(ctx, id);
  const { status } = row;
  if (status === "CANCELLED") return row;
  const reason = isFinal(status) ? "it has ended" : "its table has the window";
  throw new AppError("conflict", `The export is ${status} and cannot be cancelled: ${reason}.`);
}

function exportHasStatus(id: string, status: BulkExport["status"]) {
  return sql`exists (select 1 from ${bulk_exports} where id = ${id} and status = ${status})`;
}
