import { and, eq, inArray, lt, sql } from "drizzle-orm";
import { database } from "../../shared/context.ts";
import { log } from "../../shared/log.ts";
import { startHeartbeat } from "../../shared/work/heartbeat.ts";
import { toFailure } from "../files/failure.ts";
import { backOff } from "../files/postponement.ts";
import { EXPORT_TIMEOUT_HOURS, HEARTBEAT_MS, LEASE_MS, MAX_ACTIVE_EXPORTS } from "../limits.ts";
import { readExport } from "../rows.ts";
import { isFinal, writeOutcomeOf } from "../states.ts";
import { bulk_exports, type ExportRow } from "../table.ts";
import { cleanUp } from "./clean-up.ts";
import { endExport, sendNext } from "./ending.ts";
import { countFiles, failureText, sendNextFiles } from "./export-files.ts";
import { finishExport } from "./finish.ts";
import { planExport } from "./plan.ts";

const TIMEOUT_MS = EXPORT_TIMEOUT_HOURS * 3_600_000;

/**
 * Advances an export as far as possible: claims an active slot, plans, sends files, finishes. Each step reads the rows
 * first, so it may run twice, late or concurrently.
 */
export async function advanceExport(env: Env, id: string, now = new Date()): Promise<void> {
  const row = await readExport(env, id);
  if (!row || row.status === "INTERVAL_SCHEDULED") return;
  if (isFinal(row.status)) return afterEnd(env, row, now);
  if ((await tryAdvance(env, row, now)) === "continues") return;
  const ended = await readExport(env, id);
  if (ended && isFinal(ended.status)) await afterEnd(env, ended, now);
}

type Step = "continues" | "may_have_ended";

async function tryAdvance(env: Env, row: ExportRow, now: Date): Promise<Step> {
  try {
    const step = await advance(env, row, now);
    if (step === "continues") await clearError(env, row);
    return step;
  } catch (error) {
    await settleFailure(env, row, error, now);
    return "may_have_ended";
  }
}

/** Removes the error of an earlier attempt, unless a concurrent attempt has set another error since. */
async function clearError(env: Env, { id, error }: ExportRow): Promise<void> {
  if (error === null) return;
  await database(env)
    .update(bulk_exports)
    .set({ error: null })
    .where(
      and(
        eq(bulk_exports.id, id),
        eq(bulk_exports.error, error),
        inArray(bulk_exports.status, ["CREATED", "RUNNING"]),
      ),
    );
}

async function advance(env: Env, row: ExportRow, now: Date): Promise<Step> {
  if (isOverdue(row, now)) return end(env, row, "TIMEDOUT", timeoutText(row), now);
  if (row.status === "CREATED" && !(await activate(env, row, now))) return "continues";
  if (row.planned_at !== null) return write(env, row, now);
  await whileRunning(env, row.id, () => planExport(env, row));
  // Reads the row again: a concurrent attempt may have saved the plan, and a request may have cancelled the export.
  const planned = await readExport(env, row.id);
  return planned?.status === "RUNNING" ? write(env, planned, now) : "may_have_ended";
}

async function write(env: Env, row: ExportRow, now: Date): Promise<Step> {
  await sendNextFiles(env, row.workspace_id);
  const outcome = writeOutcomeOf(await countFiles(env, row.id));
  if (outcome === "pending") return "continues";
  if (outcome === "failed") {
    return end(env, row, "FAILED", await failureText(env, row.id), now);
  }
  const result = await whileRunning(env, row.id, (signal) => finishExport(env, row, signal));
  if (result === "finished") return end(env, row, "COMPLETED", null, now);
  await sendNextFiles(env, row.workspace_id);
  return "continues";
}

async function end(
  env: Env,
  row: ExportRow,
  status: "COMPLETED" | "FAILED" | "TIMEDOUT",
  error: string | null,
  now: Date,
): Promise<Step> {
  await endExport(env, row, { status, error }, now);
  return "may_have_ended";
}

async function settleFailure(env: Env, row: ExportRow, error: unknown, now: Date): Promise<void> {
  if (error instanceof ExportEnded) return;
  const { text, is_transient, retry_after_seconds } = toFailure(error);
  if (is_transient) {
    const since = Date.parse(row.planned_at ?? row.started_at ?? now.toISOString());
    const elapsed_ms = now.getTime() - since;
    return backOff(env, row, {
      event: "export_postponed",
      error,
      text,
      elapsed_ms,
      retry_after_seconds,
    });
  }
  log.error("export_failed", error, { bulk_export_id: row.id });
  await endExport(env, row, { status: "FAILED", error: text }, now);
}

/** Sends the exports and files that waited for a free slot, then cleans up. Does nothing once the clean-up is done. */
async function afterEnd(env: Env, row: ExportRow, now: Date): Promise<void> {
  if (row.cleaned_at !== null) return;
  await sendNext(env, row);
  await sendNextFiles(env, row.workspace_id);
  await cleanUp(env, row, now);
}

class ExportEnded extends Error {
  override name = "ExportEnded";
}

/**
 * Renews `sent_at` during the work, so that the sweep does not resume the export. The signal aborts when the export ends,
 * or when no renewal succeeds for LEASE_MS.
 */
async function whileRunning<T>(
  env: Env,
  id: string,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const { signal, stop } = startHeartbeat({
    interval_ms: HEARTBEAT_MS,
    lease_ms: LEASE_MS,
    renew: async () => {
      const rows = await database(env)
        .update(bulk_exports)
        .set({ sent_at: new Date().toISOString() })
        .where(and(eq(bulk_exports.id, id), eq(bulk_exports.status, "RUNNING")))
        .returning({ id: bulk_exports.id });
      return rows.length > 0;
    },
    lost: () => new ExportEnded(`The export ${id} ended`),
  });
  try {
    return await work(signal);
  } finally {
    stop();
  }
}

const TIMEOUT_TEXT = `The export did not end within ${EXPORT_TIMEOUT_HOURS} hours. Retry it: written files are kept.`;

function timeoutText({ error }: ExportRow): string {
  return error === null ? TIMEOUT_TEXT : `${TIMEOUT_TEXT} Last error: ${error}`;
}

function isOverdue({ started_at }: ExportRow, now: Date): boolean {
  return started_at !== null && Date.parse(started_at) + TIMEOUT_MS <= now.getTime();
}

/**
 * Claims an active slot, if one is free. One statement counts the running exports and claims. A window of a schedule waits
 * until earlier windows that are CREATED or RUNNING have a plan. Earlier windows that ended without a plan do not count:
 * `planExport` of the next window plans them too.
 */
async function activate(env: Env, { id, ...row }: ExportRow, now: Date): Promise<boolean> {
  const at = now.toISOString();
  const others = sql`(select count(*) from ${bulk_exports} other
    where other.workspace_id = ${row.workspace_id} and other.status = 'RUNNING')`;
  const isNext = sql`not exists (select 1 from ${bulk_exports} earlier
    where earlier.source_bulk_export_id = ${row.source_bulk_export_id}
      and earlier.window_index < ${row.window_index} and earlier.planned_at is null
      and earlier.status in ('CREATED', 'RUNNING'))`;
  const changed = await database(env)
    .update(bulk_exports)
    .set({ status: "RUNNING", started_at: at, updated_at: at })
    .where(
      and(
        eq(bulk_exports.id, id),
        eq(bulk_exports.status, "CREATED"),
        lt(others, MAX_ACTIVE_EXPORTS),
        isNext,
      ),
    )
    .returning({ id: bulk_exports.id });
  return changed.length > 0;
}
