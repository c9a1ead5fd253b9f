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

/** A message without a lease after this time is lost; a second one does no harm. */
const RESEND_AFTER_MS = LEASE_MS;
const BATCH = 50;
const KEEP_DELIVERIES_MS = 30 * 24 * 3600 * 1000;
const DELIVERIES = 1000;

/** Builds whose message or whose Worker was lost. Those of a workspace beyond its slots wait for its builds to end. */
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

/** Deletions whose message was lost. Those of a workspace beyond its slots wait for its others. */
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

/** Past every host's redelivery window. */
export async function sweepDeliveries(env: Env, now: Date): Promise<void> {
  const oldest = new Date(now.getTime() - KEEP_DELIVERIES_MS).toISOString();
  const isOld = lt(webhook_deliveries.created_at, oldest);
  await deleteSome(database(env), webhook_deliveries, isOld, DELIVERIES);
}

/** Encrypts secrets again after a rotation of keys. */
export async function resealSecrets(env: Env): Promise<void> {
  await resealRows<typeof secrets.$inferSelect>(env, secrets, ({ deployment_id, name }) =>
    secretOwner(deployment_id, name),
  );
  await resealRows<typeof integrations.$inferSelect>(env, integrations, ({ id }) => tokenOwner(id));
}

function before(now: Date): string {
  return new Date(now.getTime() - RESEND_AFTER_MS).toISOString();
}
