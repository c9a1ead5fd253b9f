import { lt, sql } from "drizzle-orm";
import { database } from "../../../shared/context.ts";
import { resealRows } from "../../../shared/crypto/rotation.ts";
import { deleteSome } from "../../../shared/storage/sql.ts";
import { tokenOwner } from "../git/integration-service.ts";
import { sendBuilds, sendDeletions } from "../queue.ts";
import { UNFINISHED } from "../revisions.ts";
import { secretOwner } from "../secrets.ts";
import { inStatus } from "../sql.ts";
import { deployments, integrations, revisions, secrets, webhook_deliveries } from "../table.ts";
import { MAX_BUILDS_AT_ONCE } from "./build-claim-service.ts";
import { LEASE_MS } from "./build-service.ts";
import { isInTurn } from "./deletion.ts";

/** Time after which a message without a lease counts as lost. A duplicate message does no harm. */
const RESEND_AFTER_MS = LEASE_MS;
const BATCH = 50;
const KEEP_DELIVERIES_MS = 30 * 24 * 3600 * 1000;
const DELIVERIES = 1000;

/** Sends builds again whose message or Worker was lost, at most as many of a workspace as it may run at once. */
export async function sweepBuilds(env: Env, now: Date): Promise<void> {
  const at = now.toISOString();
  const rows = await database(env)
    .update(revisions)
    .set({ sent_at: at })
    .where(
      sql`${revisions.id} in (
        select id from (
          select id, sent_at, row_number() over (partition by workspace_id order by sent_at) as turn
          from revisions
          where ${inStatus(revisions.status, UNFINISHED)} and sent_at <= ${before(now)}
            and (lease_expires_at is null or lease_expires_at <= ${at})
        )
        where turn <= ${MAX_BUILDS_AT_ONCE} order by turn, sent_at limit ${BATCH}
      )`,
    )
    .returning({ id: revisions.id });
  await sendBuilds(
    env,
    rows.map(({ id }) => id),
  );
}

/** Sends deletions again whose message was lost, at most as many of a workspace as it may run at once. */
export async function sweepDeletions(env: Env, now: Date): Promise<void> {
  const rows = await database(env)
    .update(deployments)
    .set({ updated_at: now.toISOString() })
    .where(
      sql`${deployments.id} in (
        select id from deployments where ${isInTurn} and updated_at <= ${before(now)}
        order by updated_at limit ${BATCH}
      )`,
    )
    .returning({ id: deployments.id, updated_at: deployments.updated_at });
  await sendDeletions(env, rows);
}

/** Deletes deliveries that are older than the time in which any host redelivers. */
export async function sweepDeliveries(env: Env, now: Date): Promise<void> {
  const oldest = new Date(now.getTime() - KEEP_DELIVERIES_MS).toISOString();
  const isOld = lt(webhook_deliveries.created_at, oldest);
  await deleteSome(database(env), webhook_deliveries, isOld, DELIVERIES);
}

/** Encrypts secrets and credentials of integrations again after a rotation of keys. */
export async function resealSecrets(env: Env): Promise<void> {
  await resealRows<typeof secrets.$inferSelect>(env, secrets, ({ deployment_id, name }) =>
    secretOwner(deployment_id, name),
  );
  await resealRows<typeof integrations.$inferSelect>(env, integrations, ({ id }) => tokenOwner(id));
}

function before(now: Date): string {
  return new Date(now.getTime() - RESEND_AFTER_MS).toISOString();
}
