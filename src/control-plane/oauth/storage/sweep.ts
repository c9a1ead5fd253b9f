import { and, eq, isNull, lte, or, sql } from "drizzle-orm";
import { type Database, database } from "../../../shared/context.ts";
import { oldKeyIds, resealRows } from "../../../shared/crypto/rotation.ts";
import { log } from "../../../shared/log.ts";
import { among, isInTurn } from "../../../shared/storage/sql.ts";
import { mapConcurrent } from "../../../shared/work/chunks.ts";
import { oauth_authorizations, oauth_providers, oauth_tokens } from "../table.ts";
import { openProvider, type ProviderRow, sealOwner } from "./rows.ts";
import { tokenObject } from "./stub.ts";

/**
 * Time for which clients can read an authorization after its expiry. Afterwards the sweep settles an unfinished
 * exchange.
 */
const KEEP_MS = 60 * 60 * 1000;
/** Time after the expiry of an authorization for which a failed revocation delays the deletion of its unused grant. */
const GIVE_UP_MS = 24 * KEEP_MS;
const BATCH = 10_000;
/** Pause between two tries to settle an exchange. */
const RETRY_MS = KEEP_MS;
const ORPHANS_EACH_TICK = 50;
const AT_ONCE = 10;
const RESEALED_EACH_TICK = 50;

/** Deletes consents that are over, and revokes grants that a crash left without a token. */
export async function sweepAuthorizations(env: Env, now: Date): Promise<void> {
  const db = database(env);
  await db.delete(oauth_authorizations).where(
    sql`${oauth_authorizations.id} in (
      select id from oauth_authorizations
      where expires_at <= ${before(now, KEEP_MS)} and status <> 'exchanging'
      order by expires_at limit ${BATCH}
    )`,
  );
  const orphans = await claimOrphans(db, now);
  await mapConcurrent(orphans, AT_ONCE, (orphan) =>
    settle(env, db, orphan, now).catch((error: unknown) =>
      log.error("oauth_grant_not_settled", error, { auth_id: orphan.authorization.id }),
    ),
  );
}

type Orphan = Awaited<ReturnType<typeof claimOrphans>>[number];

/** Moves the next try ahead before the work: a row that cannot be settled does not starve the others. */
async function claimOrphans(db: Database, now: Date) {
  const { expires_at, next_attempt_at } = oauth_authorizations;
  const isDue = and(
    eq(oauth_authorizations.status, "exchanging"),
    lte(expires_at, before(now, KEEP_MS)),
    or(isNull(next_attempt_at), lte(next_attempt_at, now.toISOString())),
  );
  const claimed = await db
    .update(oauth_authorizations)
    .set({ next_attempt_at: before(now, -RETRY_MS) })
    .where(
      isInTurn(oauth_authorizations, { where: isDue, by: expires_at, limit: ORPHANS_EACH_TICK }),
    )
    .returning({ id: oauth_authorizations.id });
  const ids = claimed.map(({ id }) => id);
  return db
    .select({ authorization: oauth_authorizations, provider: oauth_providers })
    .from(oauth_authorizations)
    .innerJoin(oauth_providers, eq(oauth_providers.id, oauth_authorizations.oauth_provider_id))
    .where(among(oauth_authorizations.id, ids));
}

/** Ends an exchange. A token that has a row is kept: the exchange was to renew it. */
async function settle(env: Env, db: Database, { authorization, provider }: Orphan, now: Date) {
  const { id, token_id, expires_at } = authorization;
  const [token] = await db
    .select({ id: oauth_tokens.id })
    .from(oauth_tokens)
    .where(eq(oauth_tokens.id, token_id));
  if (!token) {
    const object = tokenObject(env, token_id);
    const isOld = expires_at <= before(now, GIVE_UP_MS);
    const reason = await revokeOrphan(env, token_id, provider).catch((error: unknown) => {
      if (!isOld) throw error;
      return String(error);
    });
    if (reason !== null && !isOld) return;
    if (reason !== null) log.warn("oauth_grant_forgotten", { token_id, reason });
    await object.delete();
  }
  await db.delete(oauth_authorizations).where(eq(oauth_authorizations.id, id));
}

/** Revokes a grant without a token. @returns why it was not revoked, `null` when it was */
async function revokeOrphan(
  env: Env,
  token_id: string,
  provider: ProviderRow,
): Promise<string | null> {
  const answer = await tokenObject(env, token_id).revoke(
    token_id,
    await openProvider(env, provider),
  );
  return answer.ok ? null : answer.reason;
}

/**
 * Encrypts credentials of providers, and grants, with the current key after a rotation of keys. Leaves out PKCE
 * verifiers, because they are valid for ten minutes only.
 */
export async function resealGrants(env: Env): Promise<void> {
  await resealRows<ProviderRow>(env, oauth_providers, ({ id }) => sealOwner(id));
  const old = oldKeyIds(env);
  if (old.length === 0) return;
  const db = database(env);
  const tokens = await db
    .select({ id: oauth_tokens.id })
    .from(oauth_tokens)
    .where(or(isNull(oauth_tokens.key_id), among(oauth_tokens.key_id, old)))
    .limit(RESEALED_EACH_TICK);
  for (const { id } of tokens) {
    try {
      const key_id = await tokenObject(env, id).reseal(id);
      await db.update(oauth_tokens).set({ key_id }).where(eq(oauth_tokens.id, id));
    } catch (error) {
      log.error("not_resealed", error, { token_id: id });
    }
  }
}

function before(now: Date, ms: number): string {
  return new Date(now.getTime() - ms).toISOString();
}
