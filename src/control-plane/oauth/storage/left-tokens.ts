// Triggers mark the tokens of a person who leaves a workspace, and those of a service key that is revoked, with `left_at`.
import { and, asc, eq, lte, not, sql } from "drizzle-orm";
import { type Database, database } from "../../../shared/context.ts";
import { log } from "../../../shared/log.ts";
import { oauth_providers, oauth_tokens } from "../table.ts";
import { deleteOne, deleteUnrevoked } from "./deletion.ts";
import type { ProviderRow } from "./rows.ts";

type LeftToken = { id: string; provider: ProviderRow };

const CHECKED_AT_ONCE = 10_000;
const REVOKED_AT_ONCE = 10;
/** Time until the next try with a provider that cannot be reached. */
const RETRY_MS = 60 * 60 * 1000;

/** Revokes the marked tokens at their providers, and deletes them, unless the owner is in the workspace after all. */
export async function sweepLeftTokens(env: Env, now: Date): Promise<void> {
  const db = database(env);
  await unmarkPresent(db, now);
  const left = await db
    .select({ id: oauth_tokens.id, provider: oauth_providers })
    .from(oauth_tokens)
    .innerJoin(oauth_providers, eq(oauth_providers.id, oauth_tokens.oauth_provider_id))
    .where(and(lte(oauth_tokens.left_at, now.toISOString()), not(OWNER_IS_PRESENT)))
    .orderBy(asc(oauth_tokens.left_at))
    .limit(REVOKED_AT_ONCE);
  for (const token of left) {
    try {
      if (await deleteLeft(env, db, token)) continue;
    } catch (error) {
      log.error("left_token_kept", error, { token_id: token.id });
    }
    const left_at = new Date(now.getTime() + RETRY_MS).toISOString();
    await db.update(oauth_tokens).set({ left_at }).where(eq(oauth_tokens.id, token.id));
  }
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
    .set({ left_at: null })
    .where(and(sql`${oauth_tokens.id} IN ${marked}`, OWNER_IS_PRESENT));
}

/** A member, an admin of the organization, or a service key that is not revoked. */
const OWNER_IS_PRESENT = sql`(CASE WHEN ${oauth_tokens.owner} LIKE 'key:%' THEN
    EXISTS (SELECT 1 FROM api_keys k WHERE k.id = substr(${oauth_tokens.owner}, 5) AND k.revoked_at IS NULL)
  ELSE
    EXISTS (SELECT 1 FROM memberships m
      WHERE m.user_id = substr(${oauth_tokens.owner}, 6) AND m.workspace_id = ${oauth_tokens.workspace_id})
    OR EXISTS (SELECT 1 FROM users u JOIN workspaces w ON w.organization_id = u.organization_id
      WHERE u.id = substr(${oauth_tokens.owner}, 6) AND u.organization_role = 'admin'
        AND w.id = ${oauth_tokens.workspace_id})
  END)`;

/** @returns `false` while the provider cannot be reached */
async function deleteLeft(env: Env, db: Database, { id, provider }: LeftToken): Promise<boolean> {
  const answer = await deleteOne(env, db, id, provider);
  if (answer.ok) return true;
  if (answer.reason === "unavailable") return false;
  log.warn("oauth_grant_forgotten", { token_id: id, reason: answer.reason });
  await deleteUnrevoked(env, db, id);
  return true;
}
