import { and, eq, gt, isNull, or, type SQL, sql } from "drizzle-orm";
import type { Actor, Database } from "../../shared/context.ts";
import { newId } from "../../shared/storage/ids.ts";
import { type Credential, reachesWorkspace } from "./access.ts";
import { keyRows, personRows, toReach } from "./credential-rows.ts";
import { findReach, recordDecision } from "./decisions.ts";
import type { Person } from "./session-token.ts";
import { api_keys, users } from "./table.ts";

type KeyQuery = { sha256: string | null; tenant: string | null; max_reaches: number };

/** Two reaches show that a caller must name its workspace. */
const MAX_REACHES = 2;
const DAY_MS = 24 * 60 * 60 * 1000;

/** Finds the active key of a secret. The secret before a rotation counts until `previous_expires_at`. */
export function findApiKey(
  db: Database,
  sha256: string,
  tenant: string | null,
  max_reaches = MAX_REACHES,
): Promise<Credential | null> {
  const isPrevious = and(
    eq(api_keys.previous_sha256, sha256),
    gt(api_keys.previous_expires_at, new Date().toISOString()),
  );
  return findKey(db, or(eq(api_keys.sha256, sha256), isPrevious), { sha256, tenant, max_reaches });
}

/** Finds the users of a person, one for each organization that the person has accepted. */
export function findSubject(
  db: Database,
  subject: string,
  tenant: string | null,
  max_reaches = MAX_REACHES,
): Promise<Credential | null> {
  return findPerson(db, eq(users.oidc_subject, subject), tenant, max_reaches);
}

/**
 * Finds the users of a person who signs in or has a verified token. For a person who reaches no workspace, this accepts
 * the oldest invitation of the verified email to an organization where the person reaches one. Other invitations change
 * nothing until the person accepts them: anyone may invite an address.
 */
export async function findUser(
  db: Database,
  { subject, email }: Person,
  tenant: string | null,
  max_reaches = MAX_REACHES,
): Promise<Credential | null> {
  const found = await findSubject(db, subject, tenant, max_reaches);
  const isMember = found !== null && (tenant !== null || reachesWorkspace(found));
  if (isMember || email === null) return found;
  const id = await bindOldest(db, subject, email.toLowerCase());
  // Another request may have accepted it at the same moment.
  if (id === undefined) return findSubject(db, subject, tenant, max_reaches);
  await recordDecision(db, await findReach(db, id), {
    // An id that no response has: the request is not known here.
    request_id: newId(),
    action: "acceptInvitation",
    resource: { name: "invitation_id", id },
  });
  return findSubject(db, subject, tenant, max_reaches);
}

/**
 * Binds the oldest invited user of the email to the person, who is identified by `subject` from then on: the address
 * can later belong to another person. Ignores invitations whose memberships were removed since. Binds none for a person
 * who reaches a workspace already: requests at the same moment accept one invitation.
 *
 * @returns the id of the bound user
 */
async function bindOldest(
  db: Database,
  subject: string,
  email: string,
): Promise<string | undefined> {
  const reaches = sql`(o.organization_role = 'admin' OR EXISTS (SELECT 1 FROM memberships m WHERE m.user_id = o.id))`;
  const oldest = sql`(SELECT u.id FROM users u WHERE u.email = ${email} AND u.oidc_subject IS NULL
    AND u.organization_id NOT IN (SELECT o.organization_id FROM users o WHERE o.oidc_subject = ${subject})
    AND (u.organization_role = 'admin' OR EXISTS (SELECT 1 FROM memberships m WHERE m.user_id = u.id))
    AND NOT EXISTS (SELECT 1 FROM users o WHERE o.oidc_subject = ${subject} AND ${reaches})
    ORDER BY u.created_at, u.id LIMIT 1)`;
  const [bound] = await db
    .update(users)
    .set({ oidc_subject: subject })
    .where(and(eq(users.id, oldest), isNull(users.oidc_subject)))
    .returning({ id: users.id });
  return bound?.id;
}

/** Finds the present reaches of the principal of an earlier request, in the workspace of that request. */
export async function findPrincipal(
  db: Database,
  { actor, workspace_id: tenant }: { actor: Actor; workspace_id: string | null },
  max_reaches = MAX_REACHES,
): Promise<Credential | null> {
  if (actor.type === "api_key") {
    return findKey(db, eq(api_keys.id, actor.key_id), { sha256: null, tenant, max_reaches });
  }
  if (actor.type !== "user") return null;
  return findPerson(db, eq(users.id, actor.user_id), tenant, max_reaches);
}

async function findKey(
  db: Database,
  isMeant: SQL | undefined,
  { sha256, tenant, max_reaches }: KeyQuery,
): Promise<Credential | null> {
  const rows = await keyRows(db, isMeant, tenant, max_reaches);
  const [first] = rows;
  if (first === undefined) return null;
  await recordUse(db, first);
  const { key_id, user_id, kind, bound_to, expires_at, previous_expires_at } = first;
  const isPrevious = sha256 !== null && first.sha256 !== sha256;
  const ends = [expires_at, isPrevious ? previous_expires_at : null].filter((at) => at !== null);
  const actor = { type: "api_key", key_id, user_id } as const;
  return {
    actor,
    is_organization_wide: kind === "service" && bound_to === null,
    expires_at: ends.sort()[0] ?? null,
    reaches: rows.map((row) => toReach(row, actor)),
  };
}

async function findPerson(
  db: Database,
  isMeant: SQL | undefined,
  tenant: string | null,
  max_reaches: number,
): Promise<Credential | null> {
  const rows = await personRows(db, isMeant, tenant, max_reaches);
  const reaches = rows.map((row) => toReach(row, { type: "user", user_id: row.user_id }));
  const [first] = reaches;
  if (first === undefined) return null;
  return { actor: first.actor, is_organization_wide: false, expires_at: null, reaches };
}

/** Writes `last_used_at` only when it is a day old: a write for each request would cost more than the request. */
async function recordUse(
  db: Database,
  { key_id, last_used_at }: { key_id: string; last_used_at: string | null },
): Promise<void> {
  const now = Date.now();
  if (last_used_at !== null && Date.parse(last_used_at) > now - DAY_MS) return;
  await db
    .update(api_keys)
    .set({ last_used_at: new Date(now).toISOString() })
    .where(eq(api_keys.id, key_id));
}
