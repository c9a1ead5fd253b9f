import { and, asc, eq, isNull, type SQL, sql } from "drizzle-orm";
import { database } from "../../../shared/context.ts";
import { AppError, notFound } from "../../../shared/errors.ts";
import { isUniqueViolation } from "../../../shared/storage/sql.ts";
import { hasOtherAdmin, lastAdmin } from "../admins.ts";
import { resolvePrincipal } from "../auth.ts";
import { forgetCallers } from "../caller-cache.ts";
import { findReach, type PersonReach } from "../decisions.ts";
import { deleteUser } from "../members/organization-service.ts";
import type { Person } from "../session-token.ts";
import { memberships, organizations, users, workspaces } from "../table.ts";
import type { InvitationList } from "./invitation-schema.ts";

const MAX_INVITATIONS = 100;
/** Maximum number of workspaces of all invitations together. */
const MAX_ROWS = 10_000;

/** Lists the invitations of the person: users that organizations created for the email, and that are not bound yet. */
export async function listInvitations(env: Env, headers: Headers): Promise<InvitationList> {
  const db = database(env);
  const person = await personOf(env, headers);
  const oldest = db
    .select({ id: users.id })
    .from(users)
    .where(isInvitationOf(person))
    .orderBy(asc(users.created_at), asc(users.id))
    .limit(MAX_INVITATIONS)
    .as("oldest");
  const rows = await db
    .select({
      id: users.id,
      created_at: users.created_at,
      organization: { id: organizations.id, name: organizations.name },
      workspace: { id: workspaces.id, name: workspaces.name, role: memberships.role },
    })
    .from(users)
    .innerJoin(oldest, eq(oldest.id, users.id))
    .innerJoin(organizations, eq(organizations.id, users.organization_id))
    .leftJoin(memberships, eq(memberships.user_id, users.id))
    .leftJoin(workspaces, eq(workspaces.id, memberships.workspace_id))
    .orderBy(asc(users.created_at), asc(users.id))
    .limit(MAX_ROWS);
  const byId = Map.groupBy(rows, ({ id }) => id);
  return {
    invitations: [...byId].flatMap(([id, [first, ...others]]) => {
      if (first === undefined) return [];
      const { created_at, organization } = first;
      const opened = [first, ...others].flatMap(({ workspace: { id, name, role } }) =>
        id === null || name === null || role === null ? [] : [{ id, name, role }],
      );
      return [{ id, created_at, organization, workspaces: opened }];
    }),
  };
}

/** Binds the invited user to the person. */
export async function acceptInvitation(
  env: Env,
  headers: Headers,
  id: string,
): Promise<PersonReach> {
  const db = database(env);
  const person = await personOf(env, headers);
  const accepted = await db
    .update(users)
    .set({ oidc_subject: person.subject })
    .where(and(eq(users.id, id), isInvitationOf(person)))
    .returning({ id: users.id })
    .catch((error: unknown) => {
      if (!isUniqueViolation(error, "users.oidc_subject")) throw error;
      const text = "You are a member of this organization with another address: decline this one.";
      throw new AppError("conflict", text);
    });
  if (accepted.length === 0) throw notFound("Invitation", id);
  forgetCallers();
  return findReach(db, id);
}

/** Deletes the invited user. The organization may invite the address again. */
export async function declineInvitation(
  env: Env,
  headers: Headers,
  id: string,
): Promise<PersonReach> {
  const db = database(env);
  const person = await personOf(env, headers);
  const member = await findReach(db, id);
  const isMeant = and(eq(users.id, id), isInvitationOf(person));
  const invited = db.select({ id: users.id }).from(users).where(isMeant);
  const [, { meta }] = await db.batch([
    db.delete(memberships).where(sql`${memberships.user_id} IN (${invited})`),
    db.delete(users).where(isMeant),
  ]);
  if (meta.changes === 0) throw notFound("Invitation", id);
  return member;
}

/** Removes the person from an organization, with memberships and personal keys. */
export async function leaveOrganization(
  env: Env,
  headers: Headers,
  organization_id: string,
): Promise<PersonReach> {
  const db = database(env);
  const person = await personOf(env, headers);
  const isMeant = and(
    eq(users.oidc_subject, person.subject),
    eq(users.organization_id, organization_id),
  );
  const read = async () => {
    const [found] = await db.select().from(users).where(isMeant);
    if (found === undefined) throw notFound("Organization", organization_id);
    return found;
  };
  const user = await read();
  const member = await findReach(db, user.id);
  if (await deleteUser(db, user, keepsAdmins(user))) return member;
  // Another request may have removed the person.
  await read();
  throw lastAdmin("organization or of one of its workspaces");
}

/** SQL condition: each workspace in which the user has the role admin has another admin. */
function keepsAdmins({ id, organization_id }: typeof users.$inferSelect): SQL {
  const hasOther = hasOtherAdmin({ organization_id, workspace_id: sql`own.workspace_id` }, id);
  return sql`NOT EXISTS (SELECT 1 FROM memberships own WHERE own.user_id = ${id} AND own.role = 'admin' AND NOT ${hasOther})`;
}

/**
 * Returns the person who signed in or has a token of the issuer. Refuses keys: a key has no verified email, so it has
 * no invitations.
 */
async function personOf(env: Env, headers: Headers): Promise<Person> {
  const { person } = await resolvePrincipal(env, headers, 1);
  if (person !== null) return person;
  const text = "Only people have invitations and organizations: sign in with the issuer.";
  throw new AppError("forbidden", text);
}

/**
 * SQL condition: the user is not bound yet, and has the verified email of the sign-in. Ignores the emails of users that
 * the person is bound to: such an address may belong to another person now.
 */
function isInvitationOf({ email }: Person): SQL | undefined {
  return and(isNull(users.oidc_subject), eq(users.email, email?.toLowerCase() ?? ""));
}
