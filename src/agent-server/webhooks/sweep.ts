import { and, eq, inArray, lte, type SQL, sql } from "drizzle-orm";
import { database } from "../../shared/context.ts";
import { resealRows } from "../../shared/crypto/rotation.ts";
import { deleteBelow } from "../../shared/storage/objects-below.ts";
import { among, deleteSome } from "../../shared/storage/sql.ts";
import { sendWebhooks } from "./lease.ts";
import { MAX_ATTEMPTS_AT_ONCE } from "./limits.ts";
import { payloadKey, payloadPrefix } from "./payloads.ts";
import { ownerOf } from "./secret-service.ts";
import { run_webhooks, webhook_secrets } from "./table.ts";

/** Time after which the message of a due delivery without an attempt counts as lost. Duplicates are harmless. */
const RESEND_AFTER_MS = 10_000;
const BATCH = 500;
const DELETED_AT_ONCE = 5000;
/** Maximum batches of logs that one sweep deletes. A deployment that exports traces may have a log for each run. */
const MAX_BATCHES = 40;

/**
 * Resends messages of due deliveries without an attempt: for each workspace at most as many as it may attempt at once.
 */
export async function sweepWebhooks(env: Env, now: Date): Promise<void> {
  const at = now.toISOString();
  const before = new Date(now.getTime() - RESEND_AFTER_MS).toISOString();
  // Steps from workspace to workspace in the index, and reads a few rows of each: one may have a million deliveries.
  // `key` is the rank of a delivery in its workspace, so a large workspace does not starve the others.
  const due = sql`
    with recursive waiting(workspace_id) as (
      select min(workspace_id) from run_webhooks where status = 'pending'
      union all
      select (select min(workspace_id) from run_webhooks
        where status = 'pending' and workspace_id > waiting.workspace_id)
      from waiting where workspace_id is not null
    )
    select value from waiting, json_each((
      select json_group_array(run_id) from (
        select * from (${dueOf(before, sql`lease_expires_at is null`)})
        union all select * from (${dueOf(before, sql`lease_expires_at <= ${at}`)})
        order by due_at limit ${MAX_ATTEMPTS_AT_ONCE}
      )
    )) order by key limit ${BATCH}`;
  const rows = await database(env)
    .update(run_webhooks)
    .set({ sent_at: at })
    .where(sql`${run_webhooks.run_id} in (${due})`)
    .returning({ run_id: run_webhooks.run_id });
  await sendWebhooks(
    env,
    rows.map(({ run_id }) => run_id),
  );
}

/** Selects the first due deliveries of `waiting.workspace_id` without a running attempt. */
function dueOf(before: string, isUnleased: SQL): SQL {
  return sql`
    select run_id, due_at from run_webhooks
    where status = 'pending' and workspace_id = waiting.workspace_id and ${isUnleased}
      and due_at <= ${before} and sent_at <= ${before}
    order by due_at limit ${MAX_ATTEMPTS_AT_ONCE}`;
}

/** Deletes expired logs with their payloads. */
export async function sweepDeliveryLogs(env: Env, now: Date): Promise<void> {
  for (let batches = 0; batches < MAX_BATCHES; batches++) {
    if ((await deleteLogs(env, now)) < BATCH) return;
  }
}

/** `due_at` of an ended delivery is the expiry of its log. @returns the number of logs */
async function deleteLogs(env: Env, now: Date): Promise<number> {
  const db = database(env);
  const isExpired = and(
    inArray(run_webhooks.status, ["delivered", "failed"]),
    lte(run_webhooks.due_at, now.toISOString()),
  );
  const { run_id, deployment_id, trace_id } = run_webhooks;
  const rows = await db
    .select({ run_id, deployment_id, trace_id })
    .from(run_webhooks)
    .where(isExpired)
    .limit(BATCH);
  // Delivered rows too: the process may have ended between the delivery and the deletion of its payload.
  const withPayload = rows.filter((row) => row.trace_id === null);
  // Payloads first: after a crash in between, the rows that name them still exist.
  if (withPayload.length > 0) await env.ARTIFACTS.delete(withPayload.map(payloadKey));
  const ids = rows.map((row) => row.run_id);
  await db.delete(run_webhooks).where(and(isExpired, among(run_webhooks.run_id, ids)));
  return rows.length;
}

/**
 * Deletes some webhooks of a deployment, after its threads.
 * @returns whether all are deleted
 */
export async function deleteWebhooksOf(env: Env, deployment_id: string): Promise<boolean> {
  const isOfDeployment = eq(run_webhooks.deployment_id, deployment_id);
  if (!(await deleteSome(database(env), run_webhooks, isOfDeployment, DELETED_AT_ONCE)))
    return false;
  return deleteBelow(env.ARTIFACTS, payloadPrefix(deployment_id));
}

/** Reseals the current secrets after a key rotation. Replaced secrets expire within a day, so they stay as they are. */
export function resealWebhookSecrets(env: Env): Promise<void> {
  return resealRows<typeof webhook_secrets.$inferSelect>(env, webhook_secrets, ({ workspace_id }) =>
    ownerOf(workspace_id),
  );
}
