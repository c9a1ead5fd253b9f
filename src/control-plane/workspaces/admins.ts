import { and, eq, type SQL, sql } from "drizzle-orm";
import { assertMay } from "../../shared/auth.ts";
import type { Context } from "../../shared/context.ts";
import { AppError } from "../../shared/errors.ts";
import { assertStillAuthenticated } from "./auth.ts";
import { isActiveKey } from "./credential-rows.ts";
import { api_keys, users } from "./table.ts";

/** `workspace_id` is `null` for the organization, and may be a column of the statement. */
type Scope = { organization_id: string; workspace_id: string | SQL | null };

/**
 * Asserts that the caller is an admin, and reads its credential from D1 again. For operations on keys and members: a
 * revoked principal that is still cached must not create a key, because the key would outlive it.
 */
export async function assertAdmin(ctx: Context): Promise<void> {
  assertMay(ctx, "admin");
  await assertStillAuthenticated(ctx);
}

/**
 * Asserts that the caller is one of two kinds of admins: an organization-wide service key with the role admin, or a
 * user with the organization role admin. A personal key counts as its user.
 */
export async function assertOrganizationAdmin(ctx: Context): Promise<void> {
  await assertAdmin(ctx);
  if (await isOrganizationAdmin(ctx)) return;
  const text =
    "Requires an admin of the organization: a user with that role, or an organization-wide API key with the role admin.";
  throw new AppError("forbidden", text);
}

/**
 * SQL condition: the workspace, or the organization when `workspace_id` is `null`, has an admin other than the key or
 * user `except_id`. Users count only when they are bound to a person or have an active personal key.
 */
export function hasOtherAdmin({ organization_id, workspace_id }: Scope, except_id: string): SQL {
  const now = new Date().toISOString();
  const active = sql`k.revoked_at IS NULL AND (k.expires_at IS NULL OR k.expires_at > ${now})`;
  const keyInScope = sql`(k.workspace_id IS NULL OR k.workspace_id = ${workspace_id})`;
  const memberIsAdmin = sql`EXISTS (SELECT 1 FROM memberships m WHERE m.user_id = u.id AND m.workspace_id = ${workspace_id} AND m.role = 'admin')`;
  const canSignIn = sql`(u.oidc_subject IS NOT NULL OR EXISTS (SELECT 1 FROM api_keys k WHERE k.user_id = u.id AND ${active}))`;
  return sql`(EXISTS (SELECT 1 FROM api_keys k WHERE k.organization_id = ${organization_id} AND k.kind = 'service' AND k.role = 'admin' AND k.id <> ${except_id} AND ${keyInScope} AND ${active}) OR EXISTS (SELECT 1 FROM users u WHERE u.organization_id = ${organization_id} AND u.id <> ${except_id} AND (u.organization_role = 'admin' OR ${memberIsAdmin}) AND ${canSignIn}))`;
}

export function lastAdmin(what: string): AppError {
  const text = `Cannot remove the last admin of the ${what}: create another admin key, or make another member who has signed in an admin, first.`;
  return new AppError("conflict", text);
}

async function isOrganizationAdmin({ db, caller }: Context): Promise<boolean> {
  const { actor, organization_id } = caller;
  if (actor.type === "user") {
    const isMeant = and(eq(users.id, actor.user_id), eq(users.organization_id, organization_id));
    const [user] = await db.select({ role: users.organization_role }).from(users).where(isMeant);
    return user?.role === "admin";
  }
  if (actor.type !== "api_key") return false;
  const [key] = await db
    .select({
      bound_to: api_keys.workspace_id,
      role: api_keys.role,
      organization_role: users.organization_role,
    })
    .from(api_keys)
    .leftJoin(users, eq(users.id, api_keys.user_id))
    .where(and(eq(api_keys.id, actor.key_id), isActiveKey()));
  if (key === undefined || key.bound_to !== null) return false;
  return key.role === "admin" || key.organization_role === "admin";
}
