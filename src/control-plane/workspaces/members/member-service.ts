import { and, count, eq, type SQL, sql } from "drizzle-orm";
import type { Context, Role } from "../../../shared/context.ts";
import { AppError, invalid, notFound } from "../../../shared/errors.ts";
import { newId } from "../../../shared/storage/ids.ts";
import { inWorkspace } from "../../../shared/storage/sql.ts";
import { assertAdmin, hasOtherAdmin, lastAdmin } from "../admins.ts";
import { forgetCallers } from "../caller-cache.ts";
import { workspaceRoleOf } from "../roles.ts";
import { memberships, users } from "../table.ts";
import type {
  MemberBatchRequest,
  MemberCreateRequest,
  MemberPatchRequest,
  WorkspaceMember,
  WorkspaceMembers,
} from "./member-schema.ts";
import {
  findMembers,
  getMember,
  isMembership,
  MAX_MEMBERS,
  type MemberRow,
  revokeUnreachableKeys,
  toMember,
} from "./members.ts";

type Invitation = { email: string; role: Role };

export async function listMembers(ctx: Context): Promise<WorkspaceMembers> {
  await assertAdmin(ctx);
  const found = await findMembers(ctx);
  const members = found.filter(({ user }) => user.oidc_subject !== null);
  const pending = found.filter(({ user }) => user.oidc_subject === null);
  const { workspace_id } = ctx.caller;
  return {
    tenant_id: workspace_id,
    members: members.map((one) => toMember(ctx, one)),
    pending: pending.map((one) => toMember(ctx, one)),
  };
}

export async function addMember(
  ctx: Context,
  request: MemberCreateRequest,
): Promise<WorkspaceMember> {
  await assertAdmin(ctx);
  const role = workspaceRoleOf(request);
  const email = request.email ?? (await emailOf(ctx, request.user_id));
  const [member] = await invite(ctx, [{ email, role }]);
  if (member === undefined) throw new AppError("internal", "The new member is missing.");
  return member;
}

export async function addMembers(
  ctx: Context,
  requests: MemberBatchRequest,
): Promise<WorkspaceMember[]> {
  await assertAdmin(ctx);
  const invitations = requests.map(({ email, role, role_id, workspace_role_id }) => ({
    email,
    role: workspaceRoleOf({ role, role_id: role_id ?? workspace_role_id }),
  }));
  return invite(ctx, invitations);
}

export async function updateMember(
  ctx: Context,
  user_id: string,
  request: MemberPatchRequest,
): Promise<WorkspaceMember> {
  await assertAdmin(ctx);
  const role = workspaceRoleOf(request);
  const before = await getMember(ctx, user_id);
  const isSafe = role === "admin" ? undefined : isDispensable(ctx, before);
  const { meta } = await ctx.db
    .update(memberships)
    .set({ role })
    .where(and(isMembership(ctx, user_id), isSafe));
  if (meta.changes === 0) throw await unchanged(ctx, user_id);
  forgetCallers();
  return toMember(ctx, { ...before, role });
}

export async function removeMember(ctx: Context, user_id: string): Promise<WorkspaceMember> {
  await assertAdmin(ctx);
  const { db } = ctx;
  const member = await getMember(ctx, user_id);
  const [{ meta }] = await db.batch([
    db.delete(memberships).where(and(isMembership(ctx, user_id), isDispensable(ctx, member))),
    revokeUnreachableKeys(db, user_id),
  ]);
  if (meta.changes === 0) throw await unchanged(ctx, user_id);
  forgetCallers();
  return toMember(ctx, member);
}

/** Returns why a change of a member had no effect. @throws not_found when another request has removed the member */
async function unchanged(ctx: Context, user_id: string): Promise<AppError> {
  await getMember(ctx, user_id);
  return lastAdmin("workspace");
}

/**
 * Adds members. Returns these, and those who have the requested role already.
 * @throws conflict for members with another role, and when the workspace is full
 */
async function invite(ctx: Context, invitations: Invitation[]): Promise<WorkspaceMember[]> {
  const { db, caller } = ctx;
  const { organization_id, workspace_id } = caller;
  const roles = new Map(invitations.map(({ email, role }) => [email, role]));
  const json = JSON.stringify([...roles].map(([email, role]) => ({ id: newId(), email, role })));
  const present = await findMembers(ctx, isInvited(json));
  const other = present.find(({ user, role }) => roles.get(user.email) !== role);
  if (other !== undefined) {
    const text = `${other.user.email} is a member with the role ${other.role}: update the member instead.`;
    throw new AppError("conflict", text);
  }
  await assertRoom(ctx, roles.size - present.length);
  const now = new Date().toISOString();
  await db.batch([
    db
      .insert(users)
      .select(
        sql`SELECT value ->> 'id', ${organization_id}, value ->> 'email', NULL, 'user', ${now} FROM json_each(${json}) WHERE true`,
      )
      .onConflictDoNothing(),
    db
      .insert(memberships)
      .select(
        sql`SELECT users.id, ${workspace_id}, value ->> 'role' FROM json_each(${json}) JOIN users ON users.email = value ->> 'email' AND users.organization_id = ${organization_id} WHERE true`,
      )
      .onConflictDoNothing(),
  ]);
  forgetCallers();
  const added = await findMembers(ctx, isInvited(json));
  return added.map((one) => toMember(ctx, one));
}

async function assertRoom({ db, caller }: Context, more: number): Promise<void> {
  const isOurs = inWorkspace({ caller }, memberships);
  const [found] = await db.select({ members: count() }).from(memberships).where(isOurs);
  if ((found?.members ?? 0) + more <= MAX_MEMBERS) return;
  throw new AppError(
    "conflict",
    `The limit of ${MAX_MEMBERS} members is reached: remove one first.`,
  );
}

async function emailOf(ctx: Context, user_id: string | null | undefined): Promise<string> {
  if (!user_id) throw invalid(["body", "email"], "required, unless user_id is set");
  const { organization_id } = ctx.caller;
  const isOurs = and(eq(users.id, user_id), eq(users.organization_id, organization_id));
  const [user] = await ctx.db.select().from(users).where(isOurs);
  if (user === undefined) throw notFound("User", user_id);
  return user.email;
}

function isInvited(json: string): SQL {
  return sql`${users.email} IN (SELECT value ->> 'email' FROM json_each(${json}))`;
}

/** SQL condition of the write: another admin remains. Two admins who remove each other at once cannot both succeed. */
function isDispensable({ caller }: Context, { user, role }: MemberRow): SQL | undefined {
  return role === "admin" ? hasOtherAdmin(caller, user.id) : undefined;
}
