import { and, eq, sql } from "drizzle-orm";
import { enqueueAlertWebhook } from "../../agent-server/webhooks/service.ts";
import { database, jobContext } from "../../shared/context.ts";
import { AppError } from "../../shared/errors.ts";
import { log } from "../../shared/log.ts";
import { newId } from "../../shared/storage/ids.ts";
import { mapConcurrent } from "../../shared/work/chunks.ts";
import {
  ALERTS_AT_ONCE,
  ALERTS_PER_TICK,
  LONG_INTERVAL_MINUTES,
  SHORT_WINDOW_MINUTES,
} from "./limits.ts";
import { measureAlert } from "./measure.ts";
import { alerts, MAY_BE_DUE } from "./table.ts";

type AlertRow = typeof alerts.$inferSelect;
type Measured = { value: number | null; problem: string | null };

/** An alert is due this long before its interval ends, because a tick may begin some seconds early. */
const TICK_TOLERANCE_S = 30;

/** Evaluates due alerts, each in one tick, and publishes the changes of their status. */
export async function evaluateAlerts(env: Env, now: Date): Promise<void> {
  await mapConcurrent(await claimDue(env, now), ALERTS_AT_ONCE, async (row) => {
    try {
      await evaluate(env, row, now);
    } catch (error) {
      log.error("alert_not_evaluated", error, { alert_id: row.id });
    }
  });
}

/**
 * Claims due alerts by moving `due_at` to the next minute. The next tick repeats a failed evaluation, and publishes a
 * webhook that is still in the outbox.
 */
function claimDue(env: Env, now: Date): Promise<AlertRow[]> {
  const at = now.toISOString();
  return database(env)
    .update(alerts)
    .set({ due_at: after(1, now) })
    .where(
      sql`${alerts.id} in (
        select id from alerts
        where due_at <= ${at} and (${sql.raw(MAY_BE_DUE)})
        order by due_at limit ${ALERTS_PER_TICK}
      )`,
    )
    .returning();
}

function after(minutes: number, now: Date): string {
  return new Date(now.getTime() + (minutes * 60 - TICK_TOLERANCE_S) * 1000).toISOString();
}

async function evaluate(env: Env, row: AlertRow, now: Date): Promise<void> {
  if (row.outbox_id !== null) await publish(env, row);
  const measured = await tryToMeasure(env, row, now);
  const settled = await settle(env, row, measured, now);
  if (settled?.outbox_id) await publish(env, settled);
}

/**
 * Returns the value of the alert, or the problem in place of it, such as a deleted project or a filter that has become
 * invalid. A disabled alert has neither.
 * @throws the failure of a store: the next tick repeats the evaluation
 */
async function tryToMeasure(env: Env, row: AlertRow, now: Date): Promise<Measured> {
  if (!row.enabled) return { value: null, problem: null };
  try {
    const ctx = jobContext(env, row.workspace_id, "alerts");
    return { value: await measureAlert(ctx, row, now), problem: null };
  } catch (error) {
    const { status, message } = AppError.from(error);
    if (status >= 500 || status === 429) throw error;
    return { value: null, problem: message };
  }
}

/**
 * Compare-and-set: one tick begins or ends an episode, and leaves its webhook in the outbox with it.
 *
 * @returns `null` when another tick or a change of the alert was first
 */
async function settle(
  env: Env,
  row: AlertRow,
  { value, problem }: Measured,
  now: Date,
): Promise<AlertRow | null> {
  const status = holds(row, value) ? ("firing" as const) : ("ok" as const);
  const change =
    status === row.status ? toNextDue(row, now) : toChange({ ...row, value }, status, now);
  const [settled] = await database(env)
    .update(alerts)
    .set({ value, problem, evaluated_at: now.toISOString(), ...change })
    .where(
      and(
        eq(alerts.id, row.id),
        eq(alerts.workspace_id, row.workspace_id),
        eq(alerts.status, row.status),
        eq(alerts.episode, row.episode),
        eq(alerts.updated_at, row.updated_at),
        sql`${alerts.evaluated_at} is ${row.evaluated_at}`,
      ),
    )
    .returning();
  return settled ?? null;
}

/** Keeps the next minute, which the claim has set, for short windows. */
function toNextDue({ window_minutes }: AlertRow, now: Date) {
  return window_minutes > SHORT_WINDOW_MINUTES ? { due_at: after(LONG_INTERVAL_MINUTES, now) } : {};
}

/** Without a value no condition holds, and the episode ends. Without runs, only `run_count` has a value. */
function holds({ operator, threshold }: AlertRow, value: number | null): boolean {
  if (value === null) return false;
  return operator === "gte" ? value >= threshold : value <= threshold;
}

function toChange(row: AlertRow, status: AlertRow["status"], now: Date) {
  const isStart = status === "firing";
  const episode = row.episode + (isStart ? 1 : 0);
  const at = now.toISOString();
  const started_at = isStart ? at : row.started_at;
  const payload = {
    type: isStart ? "alert.started" : "alert.ended",
    ...{ alert_id: row.id, workspace_id: row.workspace_id, name: row.name, episode },
    ...{ metric: row.metric, session_id: row.session_id, filter: row.filter },
    ...{ feedback_key: row.feedback_key, window_minutes: row.window_minutes },
    ...{ operator: row.operator, threshold: row.threshold, value: row.value },
    ...{ started_at, ended_at: isStart ? null : at },
  };
  return {
    ...{ status, episode, started_at: isStart ? at : null },
    ...{ outbox_id: newId(), outbox_payload: JSON.stringify(payload) },
  };
}

/** Idempotent: the id of the outbox is that of the delivery. */
async function publish(env: Env, row: AlertRow): Promise<void> {
  const { id: alert_id, workspace_id, outbox_id, outbox_payload, webhook } = row;
  if (outbox_id === null || outbox_payload === null) return;
  const delivery = { id: outbox_id, url: webhook, payload: outbox_payload };
  await enqueueAlertWebhook(env, { workspace_id, alert_id }, delivery);
  await database(env)
    .update(alerts)
    .set({ outbox_id: null, outbox_payload: null })
    .where(and(eq(alerts.id, alert_id), eq(alerts.outbox_id, outbox_id)));
}
