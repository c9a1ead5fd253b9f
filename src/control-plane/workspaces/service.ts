import { and, eq } from "drizzle-orm";
import { includesRole } from "../../shared/auth.ts";
import { type Caller, type Database, database } from "../../shared/context.ts";
import { AppError } from "../../shared/errors.ts";
import { type Credential, chooseWorkspace } from "./access.ts";
import { type CachedPrincipal, endOf, principals } from "./caller-cache.ts";
import { isActiveKey } from "./credential-rows.ts";
import { findPrincipal } from "./credentials.ts";
import { api_keys, organizations, users, workspaces } from "./table.ts";

type Plan = (typeof organizations.$inferSelect)["plan"];

/** `name` is the email of a user, or a label with the prefix of an API key. */
export type Identity = { name: string; workspace: string; organization: string };

export async function findWorkspace(
  db: Database,
  workspace_id: string,
): Promise<{ organization_id: string; plan: Plan } | null> {
  const [row] = await db
    .select({ organization_id: organizations.id, plan: organizations.plan })
    .from(workspaces)
    .innerJoin(organizations, eq(organizations.id, workspaces.organization_id))
    .where(eq(workspaces.id, workspace_id));
  return row ?? null;
}

/**
 * Asserts, from D1, that the principal of an earlier request has at least the role that it had. Users of agents and
 * jobs of Heddle are not checked.
 * @throws when its key is revoked or expired, its user is not a member any more, or its role is lower
 */
export async function assertPrincipalActive(db: Database, caller: Caller): Promise<void> {
  assertRole(caller, await findActivePrincipal(db, caller));
}

/** Asserts the same as assertPrincipalActive, from the cache of findCachedPrincipal. */
export async function assertCachedPrincipal(
  env: Env,
  caller: Caller,
  max_age_ms: number,
): Promise<void> {
  assertRole(caller, await findCachedPrincipal(env, caller, max_age_ms));
}

function assertRole({ role }: Caller, current: Caller): void {
  if (includesRole(current.role, role)) return;
  const text = `The principal's role is now ${current.role}, no longer ${role}: authenticate again.`;
  throw new AppError("unauthenticated", text);
}

/**
 * Returns the principal of an earlier request, from D1, with the lower of its former and its present role.
 * @throws AppError when its key is revoked or expired, or its user is not a member any more
 */
export async function findActivePrincipal(db: Database, caller: Caller): Promise<Caller> {
  if (!isRevocable(caller)) return caller;
  return withLowerRole(caller, await readPrincipal(db, caller));
}

/**
 * Returns the same as findActivePrincipal, from a cache. While D1 is down, the cache answers for at most 5 minutes.
 * @param max_age_ms maximum age of the last poll for changes
 */
export async function findCachedPrincipal(
  env: Env,
  caller: Caller,
  max_age_ms: number,
): Promise<Caller> {
  if (!isRevocable(caller)) return caller;
  const key = `${JSON.stringify(caller.actor)}:${caller.workspace_id}`;
  const read = () => readPrincipal(database(env), caller);
  return withLowerRole(caller, await principals.get(env, key, read, max_age_ms));
}

export function isRevocable({ actor }: Caller): boolean {
  return actor.type === "api_key" || actor.type === "user";
}

async function readPrincipal(db: Database, caller: Caller): Promise<CachedPrincipal> {
  const { organization_id, workspace_id } = caller;
  const found = await findPrincipal(db, caller);
  const ends_at_ms = endOf([found?.expires_at ?? null]);
  return { organization_id, ends_at_ms, answer: answerOf(found, workspace_id) };
}

function answerOf(found: Credential | null, workspace_id: string): Caller | AppError {
  const text = "The principal's API key is revoked or expired, or its user is removed.";
  if (found === null) return new AppError("unauthenticated", text);
  try {
    return chooseWorkspace(found, workspace_id);
  } catch (error) {
    return AppError.from(error);
  }
}

function withLowerRole({ role }: Caller, { answer }: CachedPrincipal): Caller {
  if (answer instanceof AppError) throw answer;
  return includesRole(answer.role, role) ? { ...answer, role } : answer;
}

/** @returns `null` when the key is revoked or expired, or when the user or the workspace is gone. */
export async function findIdentity(
  db: Database,
  workspace_id: string,
  actor: { user_id: string } | { key_id: string },
): Promise<Identity | null> {
  const [[place], name] = await Promise.all([
    db
      .select({ workspace: workspaces.name, organization: organizations.name })
      .from(workspaces)
      .innerJoin(organizations, eq(organizations.id, workspaces.organization_id))
      .where(eq(workspaces.id, workspace_id)),
    "user_id" in actor ? emailOf(db, actor.user_id) : keyLabelOf(db, actor.key_id),
  ]);
  return place && name !== null ? { name, ...place } : null;
}

async function emailOf(db: Database, user_id: string): Promise<string | null> {
  const [row] = await db.select({ email: users.email }).from(users).where(eq(users.id, user_id));
  return row?.email ?? null;
}

async function keyLabelOf(db: Database, key_id: string): Promise<string | null> {
  const [row] = await db
    .select({ prefix: api_keys.prefix })
    .from(api_keys)
    .where(and(eq(api_keys.id, key_id), isActiveKey()));
  return row ? `the API key ${row.prefix}...` : null;
}
