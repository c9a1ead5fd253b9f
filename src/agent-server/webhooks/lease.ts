import { and, eq, lte, sql } from "drizzle-orm";
import { database } from "../../shared/context.ts";
import { isUnleased, leaseUntil } from "../../shared/work/lease.ts";
import { sendAllOrLeave } from "../../shared/work/queue.ts";
import { LEASE_MS, LOG_RETENTION_MS } from "./limits.ts";
import type { Attempt } from "./schema.ts";
import { run_webhooks } from "./table.ts";

export type WebhookRow = typeof run_webhooks.$inferSelect;

const CUT_OFF = "The process of the attempt ended before the response arrived.";

export type WebhookMessage = { type: "run_webhook"; run_webhook_id: string };

export function sendWebhooks(env: Env, run_ids: readonly string[], delay_s = 0): Promise<void> {
  const messages = run_ids.map(
    (run_webhook_id) => ({ type: "run_webhook", run_webhook_id }) as const,
  );
  return sendAllOrLeave<WebhookMessage>(env.WEBHOOKS, messages, delay_s);
}

/** @returns the delivery with a new attempt, `null` when it is claimed or not due */
export async function claimWebhook(
  env: Env,
  run_id: string,
  now: Date,
): Promise<WebhookRow | null> {
  const at = now.toISOString();
  // Remains when the process ends during the attempt.
  const entry: Attempt = { at, status: null, error: CUT_OFF, duration_ms: null };
  const [row] = await database(env)
    .update(run_webhooks)
    .set({
      attempt: sql`${run_webhooks.attempt} + 1`,
      attempts: sql`json_insert(${run_webhooks.attempts}, '$[#]', json(${JSON.stringify(entry)}))`,
      lease_expires_at: leaseUntil(now, LEASE_MS),
    })
    .where(
      and(
        eq(run_webhooks.run_id, run_id),
        eq(run_webhooks.status, "pending"),
        lte(run_webhooks.due_at, at),
        isUnleased(run_webhooks.lease_expires_at, at),
      ),
    )
    .returning();
  return row ?? null;
}

type End = Pick<WebhookRow, "status"> & { due_at: Date };

/** @returns `false` when a newer attempt holds the lease */
export async function settleAttempt(
  env: Env,
  { run_id, attempt }: WebhookRow,
  entry: Attempt,
  { status, due_at }: End,
): Promise<boolean> {
  const now = new Date();
  const expires_at = new Date(now.getTime() + LOG_RETENTION_MS);
  const isOver = status !== "pending";
  const rows = await database(env)
    .update(run_webhooks)
    .set({
      status,
      attempts: sql`json_set(${run_webhooks.attempts}, '$[#-1]', json(${JSON.stringify(entry)}))`,
      due_at: (isOver ? expires_at : due_at).toISOString(),
      sent_at: now.toISOString(),
      lease_expires_at: null,
      finished_at: isOver ? now.toISOString() : null,
    })
    .where(and(eq(run_webhooks.run_id, run_id), eq(run_webhooks.attempt, attempt)))
    .returning({ run_id: run_webhooks.run_id });
  return rows.length > 0;
}
