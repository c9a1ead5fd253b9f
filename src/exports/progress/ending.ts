import { and, asc, eq, inArray, sql } from "drizzle-orm";
import { database } from "../../shared/context.ts";
import { log } from "../../shared/log.ts";
import { count } from "../../shared/metrics/metrics.ts";
import { MAX_ACTIVE_EXPORTS } from "../limits.ts";
import { sendExports } from "../messages.ts";
import { bulk_export_files, bulk_exports, type ExportRow } from "../table.ts";

type End = { status: "COMPLETED" | "FAILED" | "TIMEDOUT"; error: string | null };

/**
 * Compare-and-set: returns the row only to the caller that ended the export. An export with an open file cannot be
 * COMPLETED. The end of an export that fails or times out ends its open files in the same batch.
 */
export async function endExport(
  env: Env,
  { id }: ExportRow,
  { status, error }: End,
  now: Date,
): Promise<ExportRow | null> {
  const at = now.toISOString();
  const db = database(env);
  const isOpen = and(
    eq(bulk_export_files.bulk_export_id, id),
    inArray(bulk_export_files.status, ["WAITING", "RUNNING"]),
  );
  const isWhole = sql`not exists (select 1 from ${bulk_export_files} where ${isOpen})`;
  const [ended] = await db.batch([
    db
      .update(bulk_exports)
      .set({ status, error, updated_at: at, finished_at: at })
      .where(
        and(
          eq(bulk_exports.id, id),
          inArray(bulk_exports.status, ["CREATED", "RUNNING"]),
          status === "COMPLETED" ? isWhole : undefined,
        ),
      )
      .returning(),
    db
      .update(bulk_export_files)
      .set({
        status: status === "TIMEDOUT" ? "TIMEDOUT" : "FAILED",
        rows_written: 0,
        bytes_written: 0,
        updated_at: at,
        finished_at: at,
      })
      .where(
        and(
          isOpen,
          sql`exists (select 1 from ${bulk_exports} where id = ${id} and status in ('FAILED', 'TIMEDOUT'))`,
        ),
      ),
  ]);
  const [final] = ended;
  if (final) {
    log.info("export_ended", { bulk_export_id: id, status });
    count("heddle_exports_ended_total", { outcome: status });
  }
  return final ?? null;
}

/** Sends the oldest waiting exports of a workspace: an export has ended, so an active slot may be free. */
export async function sendNext(env: Env, { workspace_id }: ExportRow): Promise<void> {
  const waiting = await database(env)
    .select({ id: bulk_exports.id })
    .from(bulk_exports)
    .where(and(eq(bulk_exports.status, "CREATED"), eq(bulk_exports.workspace_id, workspace_id)))
    .orderBy(asc(bulk_exports.created_at), asc(bulk_exports.window_index))
    .limit(MAX_ACTIVE_EXPORTS);
  await sendExports(
    env,
    waiting.map((row) => row.id),
  );
}
