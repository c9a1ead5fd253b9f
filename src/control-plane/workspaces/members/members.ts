import { and, asc, eq, type SQL, sql } from "drizzle-orm";
import type { Context, Database, Role } from "../../../shared/context.ts";
import { notFound } from "../../../shared/errors.ts";
import { inWorkspace } from "../../../shared/storage/sql.ts";
import { organizationRoleFields, workspaceRoleFields } from "../roles.ts";
import { api_keys, memberships, users } from "../table.ts";
import type { WorkspaceMember } from "./member-schema.ts";

export type MemberRow = { user: typeof users.$inferSelect; role: Role };

/** Maximum number of members of a workspace: the list has no pages. */
export const MAX_MEMBERS = 1000;

export async function getMember(ctx: Context, user_id: string): Promise<MemberRow> {
  const [found] = await findMembers(ctx, eq(users.id, user_id));
  if (found === undefined) throw notFound("Member", user_id);
  return found;
}

export function findMembers({ db, caller }: Context, isMeant?: SQL): Promise<MemberRow[]> {
  const { organization_id, workspace_id } = caller;
  return db
    .select({ user: users, role: memberships.role })
    .from(memberships)
    .innerJoin(users, eq(users.id, memberships.user_id))
    .where(
      and(
        eq(memberships.workspace_id, workspace_id),
        eq(users.organization_id, organization_id),
        isMeant,
      ),
    )
    .orderBy(asc(users.email))
    .limit(MAX_MEMBERS);
}

export function isMembership({ caller }: Context, user_id: string): SQL | undefined {
  return and(eq(memberships.user_id, user_id), inWorkspace({ caller }, memberships));
}

/** Revokes the personal keys of a user who reaches no workspace: a later membership must not make them valid again. */
export function revokeUnreachableKeys(db: Database, user_id: string) {
  const isRemoved = sql`NOT EXISTS (SELECT 1 FROM memberships m WHERE m.user_id = ${user_id})`;
  const isUser = sql`EXISTS (SELECT 1 FROM users u WHERE u.id = ${user_id} AND u.organization_role = 'user')`;
  return db
    .update(api_keys)
    .set({ revoked_at: sql`coalesce(${api_keys.revoked_at}, ${new Date().toISOString()})` })
    .where(and(eq(api_keys.user_id, user_id), isRemoved, isUser));
}

export function toMember({ caller }: Context, { user, role }: MemberRow): WorkspaceMember {
  return {
    ...toIdentity(user),
    ...workspaceRoleFields(role),
    tenant_id: caller.workspace_id,
    access_scope: "workspace",
    role,
  };
}

export function toIdentity(user: typeof users.$inferSelect) {
  const { id, email, organization_id, created_at } = user;
  const { role_id, role_name } = organizationRoleFields(user.organization_role);
  return {
    id,
    user_id: id,
    email,
    organization_id,
    created_at,
    org_role_id: role_id,
    org_role_name: role_name,
  };
}
