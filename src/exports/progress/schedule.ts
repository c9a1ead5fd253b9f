import { and, eq, sql } from "drizzle-orm";
import { type Context, database } from "../../shared/context.ts";
import { withCounts } from "../../shared/database/counted-database.ts";
import { AppError, notFound } from "../../shared/errors.ts";
import { log } from "../../shared/log.ts";
import { count } from "../../shared/metrics/metrics.ts";
import { isPaidPlan } from "../../shared/plans.ts";
import { newId } from "../../shared/storage/ids.ts";
import { assertProject } from "../../traces/projects/service.ts";
import { systemContext } from "../access.ts";
import { assertExportQuota, countCreates } from "../bulk-exports/quota.ts";
import { toFailure } from "../files/failure.ts";
import { MAX_CREATES_PER_HOUR, RESERVED_CREATES_PER_HOUR } from "../limits.ts";
import { sendExports } from "../messages.ts";
import { bulk_exports, type ExportRow } from "../table.ts";
import { dueAt, windowOf } from "../windows.ts";

// Limits of one run of the cron job. WINDOWS_AT_ONCE is for each schedule.
const SCHEDULES_AT_ONCE = 100;
const WINDOWS_AT_ONCE = 24;

/** Creates exports of due windows, each once and in order, including missed ones. */
export async function spawnWindows(env: Env, now: Date): Promise<void> {
  for (const schedule of await claimDue(env, now)) await catchUp(env, schedule, now);
}

/**
 * Marks and returns the due schedules that were checked least recently, up to SCHEDULES_AT_ONCE. A schedule without quota
 * does not starve the others.
 */
function claimDue(env: Env, now: Date): Promise<ExportRow[]> {
  const at = now.toISOString();
  return database(env)
    .update(bulk_exports)
    .set({ sent_at: at })
    .where(
      sql`${bulk_exports.id} in (
        select id from bulk_exports
        where status = 'INTERVAL_SCHEDULED' and next_window_at <= ${at}
        order by sent_at, next_window_at limit ${SCHEDULES_AT_ONCE}
      )`,
    )
    .returning();
}

async function catchUp(env: Env, schedule: ExportRow, now: Date): Promise<void> {
  const ctx = await systemContext(env, schedule.workspace_id);
  const problem = await problemOf(ctx, schedule);
  if (ctx === null || problem !== null) return endSchedule(env, schedule, problem, now);
  // After a downgrade of the plan the windows wait.
  const quota = isPaidPlan(ctx.caller) ? await remainingQuota(ctx, now) : 0;
  let { next_window_index: k } = schedule;
  const { start_us, interval_hours } = schedule;
  if (k === null || interval_hours === null) return;
  const last = k + Math.min(quota, WINDOWS_AT_ONCE);
  for (; k < last && dueAt(start_us, interval_hours, k) <= now.toISOString(); k++) {
    const id = await spawn(env, schedule, { k, interval_hours, now });
    if (id === null) return;
    await sendExports(env, [id]);
  }
}

/** Returns the reason why the schedule can never export again, `null` when it can. */
async function problemOf(ctx: Context | null, { workspace_id, session_id }: ExportRow) {
  try {
    if (ctx === null) throw notFound("Workspace", workspace_id);
    await assertProject(ctx, session_id);
    return null;
  } catch (error) {
    const { is_transient, text } = toFailure(error);
    if (is_transient) throw error;
    return text;
  }
}

async function endSchedule(
  env: Env,
  { id }: ExportRow,
  error: string | null,
  now: Date,
): Promise<void> {
  const at = now.toISOString();
  await database(env)
    .update(bulk_exports)
    .set({ status: "FAILED", error, updated_at: at, finished_at: at, cleaned_at: at })
    .where(and(eq(bulk_exports.id, id), eq(bulk_exports.status, "INTERVAL_SCHEDULED")));
  log.info("schedule_ended", { bulk_export_id: id, reason: error });
}

/** Returns the number of exports that schedules of the workspace may create now. */
async function remainingQuota(ctx: Context, now: Date): Promise<number> {
  if (await isQuotaUsed(ctx)) return 0;
  const { count } = await countCreates(ctx, now);
  return Math.max(0, MAX_CREATES_PER_HOUR - RESERVED_CREATES_PER_HOUR - count);
}

async function isQuotaUsed(ctx: Context): Promise<boolean> {
  try {
    await assertExportQuota(ctx);
    return false;
  } catch (error) {
    if (AppError.from(error).code === "quota_exceeded") return true;
    throw error;
  }
}

type Window = { k: number; interval_hours: number; now: Date };

/**
 * Inserts window k and advances the schedule to k + 1 atomically.
 * @returns the id of the window's export, `null` when another caller has created it, the schedule has ended, or D1 failed.
 * After a failure of D1, the next run of the job creates the window.
 */
async function spawn(env: Env, schedule: ExportRow, { k, interval_hours, now }: Window) {
  const id = newId();
  const at = now.toISOString();
  const { start_us, end_us } = windowOf(schedule.start_us, interval_hours, k);
  const next_window_at = dueAt(schedule.start_us, interval_hours, k + 1);
  try {
    const db = withCounts(env.DB);
    const [made] = await db.batch([
      db.prepare(INSERT_WINDOW).bind(id, start_us, end_us, k, at, at, at, schedule.id, k),
      db.prepare(STEP).bind(k + 1, next_window_at, at, schedule.id, k),
    ]);
    if (made?.meta.changes !== 1) return null;
    count("heddle_export_windows_total", {});
    return id;
  } catch (error) {
    log.error("window_not_spawned", error, { bulk_export_id: schedule.id, window: k });
    return null;
  }
}

const IS_NEXT = "id = ? AND status = 'INTERVAL_SCHEDULED' AND next_window_index = ?";
const INSERT_WINDOW = `INSERT INTO bulk_exports
    (id, workspace_id, bulk_export_destination_id, session_id, key_base, start_us, end_us, filter,
     export_fields, format_version, compression, late_rows, table_format, status, source_bulk_export_id,
     window_index, created_at, updated_at, sent_at)
  SELECT ?, workspace_id, bulk_export_destination_id, session_id, key_base, ?, ?, filter,
    export_fields, format_version, compression, late_rows, table_format, 'CREATED', id, ?, ?, ?, ?
  FROM bulk_exports WHERE ${IS_NEXT}`;
const STEP = `UPDATE bulk_exports SET next_window_index = ?, next_window_at = ?, updated_at = ?
  WHERE ${IS_NEXT}`;
