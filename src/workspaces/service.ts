import { and, desc, eq, isNull, or, type SQL } from "drizzle-orm";
import type { Caller, Database } from "../shared/context.ts";
import { AppError } from "../shared/errors.ts";
import type { Credential } from "./access.ts";
import { api_keys, memberships, organizations, users, workspaces } from "./table.ts";

type Plan = (typeof organizations.$inferSelect)["plan"];

/** As other people know them: the email of a person, or the first letters of a service key. */
export type Identity = { name: string; workspace: string; organization: string };

/** Two are enough to know that a caller reaches several. */
const MOST_REACHES = 2;

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

/** Throws when a caller who was let in would not be any more, or not as who they were. */
export async function assertStillLetIn(db: Database, { actor, role, workspace_id }: Caller) {
  if (actor.type === "system" || actor.type === "agent_user") return;
  const { user_id } = actor;
  const [key] =
    actor.type === "api_key"
      ? await db
          .select({ revoked_at: api_keys.revoked_at })
          .from(api_keys)
          .where(eq(api_keys.id, actor.key_id))
      : [{ revoked_at: null }];
  if (key?.revoked_at !== null) throw new AppError("unauthenticated", "Invalid API key.");
  if (user_id === null) return;
  const mine = and(eq(memberships.user_id, user_id), eq(memberships.workspace_id, workspace_id));
  const [member] = await db.select({ role: memberships.role }).from(memberships).where(mine);
  if (member?.role === role) return;
  throw new AppError("unauthenticated", "The caller's role has changed: connect again.");
}

export async function findApiKey(
  db: Database,
  sha256: string,
  tenant: string | null,
): Promise<Credential | null> {
  const rows = await db
    .select({
      key_id: api_keys.id,
      kind: api_keys.kind,
      user_id: api_keys.user_id,
      bound_to: api_keys.workspace_id,
      key_role: api_keys.role,
      member_role: memberships.role,
      organization_id: organizations.id,
      plan: organizations.plan,
      workspace_id: workspaces.id,
    })
    .from(api_keys)
    .innerJoin(organizations, eq(organizations.id, api_keys.organization_id))
    .leftJoin(memberships, eq(memberships.user_id, api_keys.user_id))
    .leftJoin(
      workspaces,
      and(
        eq(workspaces.organization_id, api_keys.organization_id),
        or(isNull(api_keys.workspace_id), eq(workspaces.id, api_keys.workspace_id)),
        or(isNull(api_keys.user_id), eq(workspaces.id, memberships.workspace_id)),
        named(tenant),
      ),
    )
    .where(and(eq(api_keys.sha256, sha256), isNull(api_keys.revoked_at)))
    .orderBy(desc(workspaces.id))
    .limit(MOST_REACHES);
  const [first] = rows;
  if (first === undefined) return null;
  return {
    actor: { type: "api_key", key_id: first.key_id, user_id: first.user_id },
    is_organization_wide: first.kind === "service" && first.bound_to === null,
    reaches: rows.map(({ organization_id, plan, workspace_id, key_role, member_role }) => ({
      organization_id,
      plan,
      workspace_id,
      role: key_role ?? member_role,
    })),
  };
}

/** A verified email finds its user only until a subject is bound to that user. */
export async function findUser(
  db: Database,
  identity: { subject: string; email: string | null },
  tenant: string | null,
): Promise<Credential | null> {
  const byEmail =
    identity.email === null
      ? undefined
      : and(eq(users.email, identity.email.toLowerCase()), isNull(users.oidc_subject));
  const rows = await db
    .select({
      user_id: users.id,
      organization_id: organizations.id,
      plan: organizations.plan,
      workspace_id: workspaces.id,
      role: memberships.role,
    })
    .from(users)
    .innerJoin(organizations, eq(organizations.id, users.organization_id))
    .leftJoin(memberships, eq(memberships.user_id, users.id))
    .leftJoin(
      workspaces,
      and(
        eq(workspaces.id, memberships.workspace_id),
        eq(workspaces.organization_id, users.organization_id),
        named(tenant),
      ),
    )
    .where(or(eq(users.oidc_subject, identity.subject), byEmail))
    .orderBy(desc(workspaces.id))
    .limit(MOST_REACHES);
  const [first] = rows;
  if (first === undefined) return null;
  return {
    actor: { type: "user", user_id: first.user_id },
    is_organization_wide: false,
    reaches: rows.map(({ user_id: _, ...reach }) => reach),
  };
}

/** Who acts in a workspace; null when the key was revoked or any of them is gone. */
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
    "user_id" in actor ? emailOf(db, actor.user_id) : prefixOf(db, actor.key_id),
  ]);
  return place && name !== null ? { name, ...place } : null;
}

async function emailOf(db: Database, user_id: string): Promise<string | null> {
  const [row] = await db.select({ email: users.email }).from(users).where(eq(users.id, user_id));
  return row?.email ?? null;
}

async function prefixOf(db: Database, key_id: string): Promise<string | null> {
  const [row] = await db
    .select({ prefix: api_keys.prefix })
    .from(api_keys)
    .where(and(eq(api_keys.id, key_id), isNull(api_keys.revoked_at)));
  return row ? `the API key ${row.prefix}...` : null;
}

function named(tenant: string | null): SQL | undefined {
  return tenant === null ? undefined : eq(workspaces.id, tenant);
}
