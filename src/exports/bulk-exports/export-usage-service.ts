import { and, eq, gte, isNull, or, sql } from "drizzle-orm";
import type { Caller, Context } from "../../shared/context.ts";
import { inWorkspace } from "../../shared/storage/sql.ts";
import { bulk_export_files, bulk_exports } from "../table.ts";

type DateRange = { from: string; to: string };
type ExportUsage = { export_files: number; export_rows: number; export_bytes: number };

/**
 * Counts the completed files of exports with their rows and bytes, by UTC day. Days without files are absent. `from` and
 * `to` are inclusive.
 */
export async function listExportUsage(
  { db, caller }: Pick<Context, "db"> & { caller: Pick<Caller, "workspace_id"> },
  { from, to }: DateRange,
): Promise<Map<string, ExportUsage>> {
  const files = bulk_export_files;
  const day = sql<string>`substr(${files.finished_at}, 1, 10)`;
  const days = await db
    .select({
      day,
      export_files: sql<number>`count(*)`,
      export_rows: sql<number>`sum(${files.rows_written})`,
      export_bytes: sql<number>`sum(${files.bytes_written})`,
    })
    .from(bulk_exports)
    .innerJoin(files, eq(files.bulk_export_id, bulk_exports.id))
    .where(
      and(
        inWorkspace({ caller }, bulk_exports),
        // Skips exports that ended before `from`: their files ended earlier.
        or(isNull(bulk_exports.finished_at), gte(bulk_exports.finished_at, from)),
        eq(files.status, "COMPLETED"),
        sql`${day} between ${from} and ${to}`,
      ),
    )
    .groupBy(day);
  return new Map(days.map(({ day, ...usage }) => [day, usage]));
}
