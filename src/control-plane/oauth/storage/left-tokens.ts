// Triggers mark tokens with `left_at`: those of a person who leaves a workspace, is deleted or gets another
// organization role, and those of a service key that is revoked or deleted. A new token is marked too. For an owner who
// is still in the workspace, the sweep replaces the mark by the expiry of the owner's key, or by `NULL`.
import { and, asc, eq, lte, not, type SQL, sql } from "drizzle-orm";
import { type Database, database } from "../../../shared/context.ts";
import { log } from "../../../shared/log.ts";
import { among, isInTurn } from "../../../shared/storage/sql.ts";
import { mapConcurrent } from "../../../shared/work/chunks.ts";
import { oauth_providers, oauth_tokens } from "../table.ts";
import { deleteOne, deleteUnrevoked } from "./deletion.ts";
import type { ProviderRow } from "./rows.ts";

type LeftToken = { id: string; provider: ProviderRow };

/** Maximum number of marked tokens whose owners one tick checks. */
const CHECKED_AT_ONCE = 10_000;
/**
 * Maximum number of tokens that one tick revokes. Each takes up to five statements of D1. An invocation may send 1000,
 * and all jobs of a tick share them.
 */
const REVOKED_EACH_TICK = 100;
const AT_ONCE = 20;
/** Time until the next try, after the provider was unavailable or the deletion failed. */
const RETRY_MS = 60 * 60 * 1000;

/** Revokes the marked tokens at their providers, and deletes them, unless their owners are in the workspace. */
export async function sweepLeftTokens(env: Env, now: Date): Promise<void> {
  const db = database(env);
  await unmarkPresent(db, now);
  const left = await claimLeft(db, now);
  await mapConcurrent(left, AT_ONCE, (token) => deleteLeft(env, db, token));
}

/** Moves the next try ahead before the work: overlapping ticks choose other tokens. */
async function claimLeft(db: Database, now: Date): Promise<LeftToken[]> {
  const isDue = and(lte(oauth_tokens.left_at, now.toISOString()), not(isOwnerPresent(now)));
  const claimed = await db
    .update(oauth_tokens)
    .set({ left_at: new Date(now.getTime() + RETRY_MS).toISOString() })
    .where(
      isInTurn(oauth_tokens, { where: isDue, by: oauth_tokens.left_at, limit: REVOKED_EACH_TICK }),
    )
    .returning({ id: oauth_tokens.id });
  const ids = claimed.map(({ id }) => id);
  return db
    .select({ id: oauth_tokens.id, provider: oauth_providers })
    .from(oauth_tokens)
    .innerJoin(oauth_providers, eq(oauth_providers.id, oauth_tokens.oauth_provider_id))
    .where(among(oauth_tokens.id, ids))
    .orderBy(
      sql`row_number() over (partition by ${oauth_tokens.workspace_id} order by ${oauth_tokens.id})`,
    );
}

async function unmarkPresent(db: Database, now: Date): Promise<void> {
  const marked = db
    .select({ id: oauth_tokens.id })
    .from(oauth_tokens)
    .where(lte(oauth_tokens.left_at, now.toISOString()))
    .orderBy(asc(oauth_tokens.left_at))
    .limit(CHECKED_AT_ONCE);
  await db
    .update(oauth_tokens)
    .set({ left_at: KEY_EXPIRY })
    .where(and(sql`${oauth_tokens.id} IN ${marked}`, isOwnerPresent(now)));
}

/** `NULL` for a user, and for a key that does not expire. */
const KEY_EXPIRY = sql`(SELECT k.expires_at FROM api_keys k WHERE k.id = substr(${oauth_tokens.owner}, 5))`;

/** SQL condition: the owner is a member, an admin of the organization, or a service key that is active. */
function isOwnerPresent(now: Date): SQL {
  return sql`(CASE WHEN ${oauth_tokens.owner} LIKE 'key:%' THEN
    EXISTS (SELECT 1 FROM api_keys k WHERE k.id = substr(${oauth_tokens.owner}, 5) AND k.revoked_at IS NULL
      AND (k.expires_at IS NULL OR k.expires_at > ${now.toISOString()}))
  ELSE
    EXISTS (SELECT 1 FROM memberships m
      WHERE m.user_id = substr(${oauth_tokens.owner}, 6) AND m.workspace_id = ${oauth_tokens.workspace_id})
    OR EXISTS (SELECT 1 FROM users u JOIN workspaces w ON w.organization_id = u.organization_id
      WHERE u.id = substr(${oauth_tokens.owner}, 6) AND u.organization_role = 'admin'
        AND w.id = ${oauth_tokens.workspace_id})
  END)`;
}

async function deleteLeft(env: Env, db: Database, { id, provider }: LeftToken): Promise<void> {
  try {
    const answer = await deleteOne(env, db, id, provider);
    if (answer.ok || answer.reason === "unavailable") return;
    log.warn("oauth_grant_forgotten", { token_id: id, reason: answer.reason });
    await deleteUnrevoked(env, db, id);
  } catch (error) {
    log.error("left_token_kept", error, { token_id: id });
  }
}
