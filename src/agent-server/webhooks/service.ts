import { and, eq, ne, sql } from "drizzle-orm";
import type { z } from "zod";
import { activeRevision } from "../../control-plane/deployments/api/service.ts";
import { assertMay } from "../../shared/auth.ts";
import { type AgentUser, type Context, database } from "../../shared/context.ts";
import { assertReachable } from "../../shared/egress/egress.ts";
import { AppError, invalid } from "../../shared/errors.ts";
import { HttpUrl } from "../../shared/schema.ts";
import { inWorkspace } from "../../shared/storage/sql.ts";
import { type HttpSettings, httpSettings } from "../access/service.ts";
import { sendWebhooks } from "./lease.ts";
import { MAX_ATTEMPTS } from "./limits.ts";
import { toDelivery } from "./list-service.ts";
import { payloadKey } from "./payloads.ts";
import { webhookSettings } from "./rules/settings.ts";
import { webhookProblem } from "./rules/url-rules.ts";
import type { Delivery } from "./schema.ts";
import { run_webhooks } from "./table.ts";

type ThreadOwner = { workspace_id: string; deployment_id: string; thread_id: string };

/**
 * Checks the webhook of a new run or cron. @throws AppError for a webhook that the agent or the region does not allow
 */
export function assertWebhook(
  env: Env,
  url: string | null | undefined,
  config: Record<string, unknown> | null,
): void {
  if (url === null || url === undefined) return;
  const http = httpSettings(config);
  if (http.disable_webhooks === true) {
    throw invalid(LOC, "is disabled by http.disable_webhooks of this agent");
  }
  if (url.startsWith("/")) assertOwnPath(url, http);
  else assertWholeUrl(env, url);
  const problem = webhookProblem(url, webhookSettings(config));
  if (problem !== null) throw invalid(LOC, problem);
}

const LOC = ["body", "webhook"];

function assertWholeUrl(env: Env, url: string): void {
  const { error } = HttpUrl.safeParse(url);
  if (error) throw invalid(LOC, error.issues[0]?.message ?? "must be a URL");
  assertReachable(env, "webhooks", { webhook: url });
}

type PendingDelivery = { run_id: string; url: string; payload: string; user: AgentUser | null };

function assertOwnPath(path: string, { app }: Pick<HttpSettings, "app">): void {
  if (!app) {
    const text = "is a path but the agent has no HTTP app (http.app): use a full URL";
    throw invalid(LOC, text);
  }
  if (OWN_PATH.test(path)) return;
  throw invalid(LOC, `must be a path of at most ${MAX_PATH} characters, such as /webhooks/runs`);
}

const MAX_PATH = 2048;
const OWN_PATH = new RegExp(`^/(?![/\\\\])[!-~]{0,${MAX_PATH - 1}}$`);

/** Enqueues the webhook of a run. Idempotent: the run's id is the key of the payload and of the row. */
export async function enqueueWebhook(
  env: Env,
  { workspace_id, deployment_id, thread_id }: ThreadOwner,
  { run_id, url, payload, user }: PendingDelivery,
): Promise<void> {
  const owner = { workspace_id, deployment_id, thread_id };
  await insertDelivery(env, { ...owner, run_id, url, user }, payload);
}

type AlertOwner = { workspace_id: string; alert_id: string };
type AlertWebhook = { id: string; url: string; payload: string };

/** Enqueues a webhook of an alert. Idempotent: `id` is the key of the payload and of the row. */
export async function enqueueAlertWebhook(
  env: Env,
  { workspace_id, alert_id }: AlertOwner,
  { id, url, payload }: AlertWebhook,
): Promise<void> {
  const owner = { workspace_id, alert_id, deployment_id: alert_id, thread_id: alert_id };
  await insertDelivery(env, { ...owner, run_id: id, url }, payload);
}

type NewDelivery = ThreadOwner &
  Omit<PendingDelivery, "payload" | "user"> & { alert_id?: string; user?: AgentUser | null };

async function insertDelivery(env: Env, row: NewDelivery, payload: string): Promise<void> {
  const now = new Date().toISOString();
  await env.ARTIFACTS.put(payloadKey(row), payload);
  const waiting = { status: "pending" as const, attempt: 0, attempts: [] };
  const times = { due_at: now, sent_at: now, created_at: now };
  await database(env)
    .insert(run_webhooks)
    .values({ ...row, ...waiting, ...times })
    .onConflictDoNothing();
  await sendWebhooks(env, [row.run_id]);
}

type RunRef = Omit<ThreadOwner, "workspace_id"> & { run_id: string };

/**
 * Returns the delivery of a run, also after its thread was deleted. Its log expires 30 days after the delivery's end.
 */
export async function getDelivery(ctx: Context, id: RunRef): Promise<z.infer<typeof Delivery>> {
  assertMay(ctx, "read");
  return toDelivery(await findDelivery(ctx, id));
}

/** Restarts a failed delivery, or makes the next attempt of a pending one now. */
export async function redeliver(ctx: Context, id: RunRef): Promise<z.infer<typeof Delivery>> {
  assertMay(ctx, "write");
  const found = await findDelivery(ctx, id);
  if (found.status === "delivered") throw isDelivered(found);
  if (!(await ctx.env.ARTIFACTS.head(payloadKey(found)))) {
    throw new AppError("conflict", "The payload is no longer stored: read the run instead.");
  }
  if (found.attempts.length >= MAX_ATTEMPTS) {
    throw new AppError("conflict", `All ${MAX_ATTEMPTS} attempts failed: read the run instead.`);
  }
  const now = new Date().toISOString();
  const { attempt, attempts_before, status } = run_webhooks;
  const [row] = await ctx.db
    .update(run_webhooks)
    .set({
      status: "pending",
      // A failed delivery has no attempts left: the pauses begin again with the first one.
      attempts_before: sql`iif(${status} = 'failed', ${attempt}, ${attempts_before})`,
      due_at: now,
      sent_at: now,
      finished_at: null,
    })
    .where(
      and(
        eq(run_webhooks.run_id, found.run_id),
        inWorkspace(ctx, run_webhooks),
        ne(status, "delivered"),
      ),
    )
    .returning();
  if (!row) throw isDelivered(await findDelivery(ctx, id));
  await sendWebhooks(ctx.env, [row.run_id]);
  return toDelivery(row);
}

type Row = typeof run_webhooks.$inferSelect;

async function findDelivery(
  ctx: Context,
  { deployment_id, thread_id, run_id }: RunRef,
): Promise<Row> {
  const agent = await activeRevision(ctx, deployment_id, null);
  const [row] = await ctx.db
    .select()
    .from(run_webhooks)
    .where(
      and(
        eq(run_webhooks.run_id, run_id),
        inWorkspace(ctx, run_webhooks),
        eq(run_webhooks.deployment_id, agent.deployment_id),
        eq(run_webhooks.thread_id, thread_id),
      ),
    );
  if (row) return row;
  throw new AppError(
    "not_found",
    `Run ${run_id} has not ended, has no webhook, or its delivery log has expired`,
  );
}

function isDelivered({ finished_at }: Row): AppError {
  return new AppError("conflict", `The webhook was delivered at ${finished_at}.`);
}
