import { and, eq, gt, isNull, or, type SQL, sql } from "drizzle-orm";
import type { Actor, Database } from "../../shared/context.ts";
import type { Credential } from "./access.ts";
import { keyRows, personRows, toReach } from "./credential-rows.ts";
import { api_keys, users } from "./table.ts";

type KeyQuery = { sha256: string | null; tenant: string | null; max_reaches: number };

/** Two are enough to know that a caller reaches several. */
const MAX_REACHES = 2;
const DAY_MS = 24 * 60 * 60 * 1000;

/** Finds the key of a secret, or of the secret before its rotation while both are valid. */
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

/**
 * Finds the user of a verified token. A verified email identifies a user only until the first token binds its
 * subject: the address can later belong to another person.
 */
export async function findUser(
  db: Database,
  { subject, email }: { subject: string; email: string | null },
  tenant: string | null,
  max_reaches = MAX_REACHES,
): Promise<Credential | null> {
  const address = email?.toLowerCase() ?? null;
  const byEmail =
    address === null ? undefined : and(eq(users.email, address), isNull(users.oidc_subject));
  const found = await findPerson(
    db,
    or(eq(users.oidc_subject, subject), byEmail),
    tenant,
    max_reaches,
  );
  if (found?.isBound === false) {
    // IGNORE: an organization may have bound this subject to another of its users.
    await db.run(
      sql`UPDATE OR IGNORE users SET oidc_subject = ${subject} WHERE email = ${address} AND oidc_subject IS NULL`,
    );
  }
  return found?.credential ?? null;
}

/** Finds what the principal of an earlier request may do now in that request's workspace. */
export async function findPrincipal(
  db: Database,
  { actor, workspace_id: tenant }: { actor: Actor; workspace_id: string | null },
  max_reaches = MAX_REACHES,
): Promise<Credential | null> {
  if (actor.type === "api_key") {
    return findKey(db, eq(api_keys.id, actor.key_id), { sha256: null, tenant, max_reaches });
  }
  if (actor.type !== "user") return null;
  const found = await findPerson(db, eq(users.id, actor.user_id), tenant, max_reaches);
  return found?.credential ?? null;
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
  return {
    actor: { type: "api_key", key_id, user_id },
    is_organization_wide: kind === "service" && bound_to === null,
    expires_at: ends.sort()[0] ?? null,
    reaches: rows.map(toReach),
  };
}

async function findPerson(
  db: Database,
  isMeant: SQL | undefined,
  tenant: string | null,
  max_reaches: number,
) {
  const rows = await personRows(db, isMeant, tenant, max_reaches);
  const [first] = rows;
  if (first === undefined) return null;
  const credential: Credential = {
    actor: { type: "user", user_id: first.user_id },
    is_organization_wide: false,
    expires_at: null,
    reaches: rows.map(toReach),
  };
  return { credential, isBound: rows.every(({ oidc_subject }) => oidc_subject !== null) };
}

/** Limits last_used_at to a write a day and key: more would cost more than the request. */
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
