import { and, eq, lte, type SQL, sql } from "drizzle-orm";
import { database } from "../../shared/context.ts";
import { isUnleased, leaseUntil } from "../../shared/work/lease.ts";
import { sendAllOrLeave } from "../../shared/work/queue.ts";
import {
  EXPORT_RETENTION_MS,
  LEASE_MS,
  LOG_RETENTION_MS,
  MAX_ATTEMPTS_AT_ONCE,
  PAUSES_SECONDS,
} from "./limits.ts";
import type { Attempt } from "./schema.ts";
import { run_webhooks } from "./table.ts";

export type WebhookRow = typeof run_webhooks.$inferSelect;

const CUT_OFF = "The process of the attempt ended before the response arrived.";

/** Names a delivery, or a workspace: of its waiting deliveries the one that waits for the longest time may begin. */
export type WebhookMessage =
  | { type: "run_webhook"; run_webhook_id: string }
  | { type: "next_webhook"; workspace_id: string };

export function sendWebhooks(env: Env, run_ids: readonly string[], delay_s = 0): Promise<void> {
  const messages = run_ids.map(
    (run_webhook_id) => ({ type: "run_webhook", run_webhook_id }) as const,
  );
  return sendAllOrLeave<WebhookMessage>(env.WEBHOOKS, messages, delay_s);
}

/** Sends a message for the next delivery of a workspace. Called when an attempt has ended. */
export function sendNextWebhook(env: Env, workspace_id: string): Promise<void> {
  return sendAllOrLeave<WebhookMessage>(env.WEBHOOKS, [{ type: "next_webhook", workspace_id }]);
}

/**
 * Starts an attempt of a delivery.
 * @returns `null` when the delivery is claimed, not due or over, or its workspace makes `MAX_ATTEMPTS_AT_ONCE` attempts.
 *   When one of these attempts ends, it sends a message for the next delivery that waits.
 */
export function claimWebhook(env: Env, run_id: string, now: Date): Promise<WebhookRow | null> {
  return claim(env, eq(run_webhooks.run_id, run_id), now);
}

/**
 * Starts an attempt of the workspace's delivery that waits for the longest time. @returns `null` like `claimWebhook`
 */
export function claimNextWebhook(
  env: Env,
  workspace_id: string,
  now: Date,
): Promise<WebhookRow | null> {
  return claim(env, sql`${run_webhooks.run_id} = (${waiting(workspace_id, now)})`, now);
}

function waiting(workspace_id: string, now: Date): SQL {
  return sql`select run_id from run_webhooks
    where status = 'pending' and workspace_id = ${workspace_id} and lease_expires_at is null
      and due_at <= ${now.toISOString()}
    order by due_at limit 1`;
}

function hasFreeSlot(at: string): SQL {
  return sql`(
    select count(*) from run_webhooks other
    where other.status = 'pending' and other.workspace_id = ${run_webhooks.workspace_id}
      and other.lease_expires_at > ${at}
  ) < ${MAX_ATTEMPTS_AT_ONCE}`;
}

/** Returns when the next attempt is due if the process ends: after the pause of a failed attempt, without jitter. */
function dueAgain(at: string): SQL {
  const { attempt, attempts_before } = run_webhooks;
  const pause = sql`json_extract(${JSON.stringify(PAUSES_SECONDS)}, '$[' || (${attempt} - ${attempts_before}) || ']')`;
  return sql`strftime('%Y-%m-%dT%H:%M:%fZ', ${at}, '+' || ifnull(${pause}, 0) || ' seconds')`;
}

async function claim(env: Env, isChosen: SQL, now: Date): Promise<WebhookRow | null> {
  const at = now.toISOString();
  // Remains in the log when the process ends during the attempt. `settleAttempt` replaces it.
  const entry: Attempt = { at, status: null, error: CUT_OFF, duration_ms: null };
  const [row] = await database(env)
    .update(run_webhooks)
    .set({
      attempt: sql`${run_webhooks.attempt} + 1`,
      attempts: sql`json_insert(${run_webhooks.attempts}, '$[#]', json(${JSON.stringify(entry)}))`,
      lease_expires_at: leaseUntil(now, LEASE_MS),
      due_at: dueAgain(at),
    })
    .where(
      and(
        isChosen,
        eq(run_webhooks.status, "pending"),
        lte(run_webhooks.due_at, at),
        isUnleased(run_webhooks.lease_expires_at, at),
        hasFreeSlot(at),
      ),
    )
    .returning();
  return row ?? null;
}

/**
 * Extends the lease of an attempt that waits or sends several requests.
 * @returns `false` when a newer attempt holds the lease
 */
export async function extendLease(env: Env, { run_id, attempt }: WebhookRow): Promise<boolean> {
  const extended = await database(env)
    .update(run_webhooks)
    .set({ lease_expires_at: leaseUntil(new Date(), LEASE_MS) })
    .where(and(eq(run_webhooks.run_id, run_id), eq(run_webhooks.attempt, attempt)))
    .returning({ run_id: run_webhooks.run_id });
  return extended.length > 0;
}

type End = Pick<WebhookRow, "status"> & { due_at: Date };

type Settled = {
  /** `false` when a newer attempt holds the lease. */
  is_ours: boolean;
  /** Whether a redelivery was requested during this attempt, which has failed. */
  is_requested: boolean;
  /** Whether a delivery of the workspace waits for a slot. */
  is_next_waiting: boolean;
};

/**
 * Stores the result of an attempt, and ends its lease. After a failure, keeps a redelivery that was requested since the
 * claim, which had set another `due_at`.
 */
export async function settleAttempt(
  env: Env,
  { run_id, attempt, workspace_id, trace_id, due_at: claimed }: WebhookRow,
  entry: Attempt,
  { status, due_at }: End,
): Promise<Settled> {
  const now = new Date();
  const retention_ms = trace_id === null ? LOG_RETENTION_MS : EXPORT_RETENTION_MS;
  const expires_at = new Date(now.getTime() + retention_ms);
  const isOver = status !== "pending";
  const next_at = (isOver ? expires_at : due_at).toISOString();
  const { due_at: requested_at, attempts_before } = run_webhooks;
  const isRequested = status === "delivered" ? sql`0` : sql`${requested_at} <> ${claimed}`;
  const db = database(env);
  const settle = db
    .update(run_webhooks)
    .set({
      status: sql`iif(${isRequested}, 'pending', ${status})`,
      attempts_before: sql`iif(${isRequested} AND ${isOver ? 1 : 0}, ${attempt}, ${attempts_before})`,
      attempts: sql`json_set(${run_webhooks.attempts}, '$[#-1]', json(${JSON.stringify(entry)}))`,
      due_at: sql`iif(${isRequested}, ${requested_at}, ${next_at})`,
      sent_at: now.toISOString(),
      lease_expires_at: null,
      finished_at: sql`iif(${isRequested}, NULL, ${isOver ? now.toISOString() : null})`,
    })
    .where(and(eq(run_webhooks.run_id, run_id), eq(run_webhooks.attempt, attempt)))
    .returning({ due_at: run_webhooks.due_at });
  const next = db
    .select({ run_id: run_webhooks.run_id })
    .from(run_webhooks)
    .where(sql`${run_webhooks.run_id} = (${waiting(workspace_id, now)})`);
  const [settled, waits] = await db.batch([settle, next]);
  const [row] = settled;
  return {
    is_ours: row !== undefined,
    is_requested: row !== undefined && row.due_at !== next_at,
    is_next_waiting: waits.length > 0,
  };
}
