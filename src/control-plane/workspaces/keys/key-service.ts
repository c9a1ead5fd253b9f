import { and, asc, eq, isNull, type SQL, sql } from "drizzle-orm";
import type { Context, Role } from "../../../shared/context.ts";
import { AppError, invalid, notFound } from "../../../shared/errors.ts";
import { assertAdmin, assertOrganizationAdmin, hasOtherAdmin, lastAdmin } from "../admins.ts";
import { assertStillAuthenticated, readCredentialExpiry } from "../auth.ts";
import { forgetCallers } from "../caller-cache.ts";
import { isActiveKey } from "../credential-rows.ts";
import { workspaceRoleFields } from "../roles.ts";
import { api_keys } from "../table.ts";
import { ApiKey, ApiKeyWithSecret, type RotateQuery } from "./key-schema.ts";
import { newApiKey } from "./keys.ts";

/** The keys that one family of operations manages: of the workspace, of the organization, of the calling user. */
export type KeyScope = "workspace" | "organization" | "personal";

type KeyRow = typeof api_keys.$inferSelect;
/** Maximum number of keys in one scope: lists have no pages. */
export const MAX_KEYS = 1000;

export async function listApiKeys(ctx: Context, scope: KeyScope): Promise<ApiKey[]> {
  await assertManages(ctx, scope);
  const rows = await ctx.db
    .select()
    .from(api_keys)
    .where(and(isInScope(ctx, scope), isNull(api_keys.revoked_at)))
    .orderBy(asc(api_keys.id))
    .limit(MAX_KEYS);
  return rows.map(toApiKey);
}

/** Rotates the secret of a key. The id stays, so its crons, runs and OAuth tokens continue. */
export async function rotateApiKey(
  ctx: Context,
  scope: KeyScope,
  id: string,
  { overlap_seconds }: RotateQuery,
): Promise<ApiKeyWithSecret> {
  await assertManages(ctx, scope);
  const isRotated = and(eq(api_keys.id, id), isInScope(ctx, scope), isActiveKey());
  const [found] = await ctx.db.select().from(api_keys).where(isRotated);
  const limit = found && (await expiryBefore(ctx, found.expires_at));
  if (limit) {
    const text = `The calling key expires at ${limit}, before this key: rotate it with a key that does not expire earlier.`;
    throw new AppError("forbidden", text);
  }
  const kind = scope === "personal" ? "personal" : "service";
  const { api_key, sha256, prefix } = newApiKey(kind);
  const [row] = await ctx.db
    .update(api_keys)
    .set({
      sha256,
      prefix,
      previous_sha256: sql`${api_keys.sha256}`,
      previous_expires_at: new Date(Date.now() + overlap_seconds * 1000).toISOString(),
    })
    .where(isRotated)
    .returning();
  if (row === undefined) throw notFound("API key", id);
  forgetCallers();
  return ApiKeyWithSecret.parse({ ...toApiKey(row), key: api_key });
}

/** Refuses a new key that would expire later than the calling key. */
export async function assertExpiry(ctx: Context, expires_at: string | null): Promise<void> {
  const limit = await expiryBefore(ctx, expires_at);
  if (limit === null) return;
  const text = `must be at or before ${limit}, when the calling key expires`;
  throw invalid(["body", "expires_at"], text);
}

/**
 * Returns when the secret of the calling key expires if that is before `expires_at`, otherwise `null`. `expires_at` is
 * `null` for a key that does not expire.
 */
async function expiryBefore(ctx: Context, expires_at: string | null): Promise<string | null> {
  if (ctx.caller.actor.type !== "api_key") return null;
  const limit = await readCredentialExpiry(ctx);
  return limit === null || (expires_at !== null && expires_at <= limit) ? null : limit;
}

export async function revokeApiKey(ctx: Context, scope: KeyScope, id: string): Promise<ApiKey> {
  await assertManages(ctx, scope);
  const isMeant = and(eq(api_keys.id, id), isInScope(ctx, scope), isNull(api_keys.revoked_at));
  const read = async () => {
    const [found] = await ctx.db.select().from(api_keys).where(isMeant);
    if (found === undefined) throw notFound("API key", id);
    return found;
  };
  const key = await read();
  const { meta } = await ctx.db
    .update(api_keys)
    .set({ revoked_at: new Date().toISOString() })
    .where(and(isMeant, isDispensable(key)));
  if (meta.changes === 0) {
    // Throws when another request has revoked the key.
    await read();
    throw lastAdmin(key.workspace_id ? "workspace" : "organization");
  }
  forgetCallers();
  return toApiKey(key);
}

/**
 * SQL condition of the update: another admin remains. Concurrent revocations of the last two admins cannot both pass.
 */
function isDispensable(key: KeyRow): SQL | undefined {
  const isExpired = key.expires_at !== null && key.expires_at <= new Date().toISOString();
  return key.role === "admin" && !isExpired ? hasOtherAdmin(key, key.id) : undefined;
}

export async function assertManages(ctx: Context, scope: KeyScope): Promise<void> {
  if (scope === "workspace") return assertAdmin(ctx);
  if (scope === "organization") return assertOrganizationAdmin(ctx);
  return assertStillAuthenticated(ctx);
}

export function isInScope(ctx: Context, scope: KeyScope): SQL | undefined {
  const { organization_id, workspace_id } = ctx.caller;
  const isOwn = eq(api_keys.organization_id, organization_id);
  if (scope === "personal") {
    return and(isOwn, eq(api_keys.kind, "personal"), eq(api_keys.user_id, userOf(ctx) ?? ""));
  }
  const isBound = scope === "workspace" ? eq(api_keys.workspace_id, workspace_id) : undefined;
  return and(isOwn, eq(api_keys.kind, "service"), isBound);
}

export function userOf({ caller: { actor } }: Context): string | null {
  return "user_id" in actor ? actor.user_id : null;
}

export function toApiKey({ prefix, ...row }: KeyRow): ApiKey {
  const role: Role | null = row.role;
  return ApiKey.parse({
    ...row,
    short_key: `${prefix}...`,
    access_scope: row.workspace_id === null ? "organization" : "workspace",
    role_id: role && workspaceRoleFields(role).role_id,
    read_only: role === "viewer",
  });
}
