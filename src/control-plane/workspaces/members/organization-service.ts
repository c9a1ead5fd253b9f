import { and, asc, eq, type SQL, sql } from "drizzle-orm";
import type { Context, Database } from "../../../shared/context.ts";
import { type AppError, notFound } from "../../../shared/errors.ts";
import { assertOrganizationAdmin, hasOtherAdmin, lastAdmin } from "../admins.ts";
import { forgetCallers } from "../caller-cache.ts";
import { organizationRoleFields, organizationRoleOf, ROLE_LIST } from "../roles.ts";
import { api_keys, memberships, users, workspaces } from "../table.ts";
import type {
  OrganizationMember,
  OrganizationMemberPatchRequest,
  OrganizationMembers,
  RoleList,
} from "./member-schema.ts";
import { revokeUnreachableKeys, toIdentity } from "./members.ts";

type User = typeof users.$inferSelect;

/** Maximum number of users in the list, which has no pages. */
const MAX_USERS = 10_000;

/** Lists the roles, which are the same in each organization. */
export function listRoles(): RoleList {
  return ROLE_LIST;
}

export async function listOrganizationMembers(ctx: Context): Promise<OrganizationMembers> {
  await assertOrganizationAdmin(ctx);
  const { organization_id } = ctx.caller;
  const found = await findUsers(ctx);
  return {
    organization_id,
    members: found.filter(({ user }) => user.oidc_subject !== null).map(toMember),
    pending: found.filter(({ user }) => user.oidc_subject === null).map(toMember),
  };
}

export async function updateOrganizationMember(
  ctx: Context,
  user_id: string,
  request: OrganizationMemberPatchRequest,
): Promise<OrganizationMember> {
  await assertOrganizationAdmin(ctx);
  const organization_role = organizationRoleOf(request);
  const { user, tenant_ids } = await getUser(ctx, user_id);
  const isSafe = organization_role === "admin" ? undefined : isDispensable(user);
  const [{ meta }] = await ctx.db.batch([
    ctx.db
      .update(users)
      .set({ organization_role })
      .where(and(isUser(ctx, user_id), isSafe)),
    revokeUnreachableKeys(ctx.db, user_id),
  ]);
  if (meta.changes === 0) throw await unchanged(ctx, user_id);
  forgetCallers();
  return toMember({ user: { ...user, organization_role }, tenant_ids });
}

/** Deletes the user, with memberships and personal keys. The same email may be added again, as a new user. */
export async function removeOrganizationMember(
  ctx: Context,
  user_id: string,
): Promise<OrganizationMember> {
  await assertOrganizationAdmin(ctx);
  const found = await getUser(ctx, user_id);
  if (!(await deleteUser(ctx.db, found.user))) throw await unchanged(ctx, user_id);
  return toMember(found);
}

/**
 * Deletes a user with memberships and personal keys, if the condition holds.
 * @returns `false` for the last admin of the organization, when the condition does not hold, and when the user is gone
 */
export async function deleteUser(db: Database, user: User, isAllowed?: SQL): Promise<boolean> {
  // The first statement has the conditions and marks the user. The others change marked users only.
  const isMarked = sql`EXISTS (SELECT 1 FROM users u WHERE u.id = ${user.id} AND u.oidc_subject = ${MARK + user.id})`;
  const results = await db.batch([
    db
      .update(users)
      .set({ oidc_subject: MARK + user.id })
      .where(and(eq(users.id, user.id), isDispensable(user), isAllowed)),
    db.delete(api_keys).where(and(eq(api_keys.user_id, user.id), isMarked)),
    db.delete(memberships).where(and(eq(memberships.user_id, user.id), isMarked)),
    db.delete(users).where(and(eq(users.id, user.id), isMarked)),
  ]);
  forgetCallers();
  return results[3].meta.changes > 0;
}

/** Returns why a change of a user had no effect. @throws not_found when another request has removed the user */
async function unchanged(ctx: Context, user_id: string): Promise<AppError> {
  await getUser(ctx, user_id);
  return lastAdmin("organization");
}

/** Start of the `oidc_subject` of a user while a batch deletes it. */
const MARK = "deleted:";

async function getUser(ctx: Context, user_id: string) {
  const [found] = await findUsers(ctx, eq(users.id, user_id));
  if (found === undefined) throw notFound("Member", user_id);
  return found;
}

async function findUsers({ db, caller }: Context, isMeant?: SQL) {
  const { organization_id } = caller;
  const found = await db
    .select()
    .from(users)
    .where(and(eq(users.organization_id, organization_id), isMeant))
    .orderBy(asc(users.email))
    .limit(MAX_USERS);
  const reached = await db
    .select({ user_id: memberships.user_id, workspace_id: memberships.workspace_id })
    .from(memberships)
    .innerJoin(workspaces, eq(workspaces.id, memberships.workspace_id))
    .innerJoin(users, eq(users.id, memberships.user_id))
    .where(and(eq(workspaces.organization_id, organization_id), isMeant));
  const byUser = Map.groupBy(reached, ({ user_id }) => user_id);
  return found.map((user) => {
    const tenant_ids = (byUser.get(user.id) ?? []).map(({ workspace_id }) => workspace_id);
    return { user, tenant_ids };
  });
}

function isUser({ caller }: Context, user_id: string): SQL | undefined {
  return and(eq(users.id, user_id), eq(users.organization_id, caller.organization_id));
}

/** SQL condition of the write: another admin remains. Two admins who remove each other at once cannot both succeed. */
function isDispensable({ id, organization_id, organization_role }: User): SQL | undefined {
  if (organization_role !== "admin") return undefined;
  return hasOtherAdmin({ organization_id, workspace_id: null }, id);
}

function toMember({ user, tenant_ids }: { user: User; tenant_ids: string[] }): OrganizationMember {
  const role = user.organization_role;
  return {
    ...toIdentity(user),
    ...organizationRoleFields(role),
    access_scope: "organization",
    role,
    tenant_ids,
  };
}
