import { and, desc, eq, exists, gt, isNull, or, type SQL, sql } from "drizzle-orm";
import type { Actor, Caller, Database, Role } from "../../shared/context.ts";
import type { Reach } from "./access.ts";
import { api_keys, memberships, organizations, users, workspaces } from "./table.ts";

type ReachRow = {
  organization_id: string;
  plan: Caller["plan"];
  workspace_id: string | null;
  workspace_name: string | null;
  key_role: Role | null;
  member_role: Role | null;
  organization_role: "admin" | "user" | null;
};

const REACH = {
  organization_id: organizations.id,
  plan: organizations.plan,
  workspace_id: workspaces.id,
  workspace_name: workspaces.name,
  member_role: memberships.role,
  organization_role: users.organization_role,
};

/** SQL condition: the key is neither revoked nor expired. */
export function isActiveKey(): SQL | undefined {
  const now = new Date().toISOString();
  return and(
    isNull(api_keys.revoked_at),
    or(isNull(api_keys.expires_at), gt(api_keys.expires_at, now)),
  );
}

/**
 * Returns a row for each workspace that the key reaches, at most `max_reaches`, the newest workspace first. A key that
 * reaches none has one row without a workspace.
 */
export function keyRows(
  db: Database,
  isMeant: SQL | undefined,
  tenant: string | null,
  max_reaches: number,
) {
  const isReached = or(
    isNull(api_keys.user_id),
    eq(users.organization_role, "admin"),
    isMember(db, api_keys.user_id),
  );
  return db
    .select({
      key_id: api_keys.id,
      sha256: api_keys.sha256,
      kind: api_keys.kind,
      user_id: api_keys.user_id,
      bound_to: api_keys.workspace_id,
      expires_at: api_keys.expires_at,
      previous_expires_at: api_keys.previous_expires_at,
      last_used_at: api_keys.last_used_at,
      key_role: api_keys.role,
      ...REACH,
    })
    .from(api_keys)
    .innerJoin(organizations, eq(organizations.id, api_keys.organization_id))
    .leftJoin(users, eq(users.id, api_keys.user_id))
    .leftJoin(
      workspaces,
      and(
        eq(workspaces.organization_id, api_keys.organization_id),
        or(isNull(api_keys.workspace_id), eq(workspaces.id, api_keys.workspace_id)),
        isReached,
        isNamed(tenant),
      ),
    )
    .leftJoin(
      memberships,
      and(eq(memberships.user_id, api_keys.user_id), eq(memberships.workspace_id, workspaces.id)),
    )
    .where(and(isMeant, isActiveKey()))
    .orderBy(desc(workspaces.id))
    .limit(max_reaches);
}

/**
 * Returns a row for each workspace that each user reaches, at most `max_reaches`, the newest workspace first. A user
 * who reaches none has one row without a workspace.
 */
export function personRows(
  db: Database,
  isMeant: SQL | undefined,
  tenant: string | null,
  max_reaches: number,
) {
  const isReached = or(eq(users.organization_role, "admin"), isMember(db, users.id));
  return db
    .select({
      user_id: users.id,
      key_role: sql<null>`NULL`,
      ...REACH,
    })
    .from(users)
    .innerJoin(organizations, eq(organizations.id, users.organization_id))
    .leftJoin(
      workspaces,
      and(eq(workspaces.organization_id, users.organization_id), isReached, isNamed(tenant)),
    )
    .leftJoin(
      memberships,
      and(eq(memberships.user_id, users.id), eq(memberships.workspace_id, workspaces.id)),
    )
    .where(isMeant)
    .orderBy(desc(workspaces.id))
    .limit(max_reaches);
}

export function toReach(row: ReachRow, actor: Actor): Reach {
  const { key_role, member_role, organization_role, ...workspace } = row;
  const role = key_role ?? (organization_role === "admin" ? "admin" : member_role);
  const { organization_id, plan, workspace_id, workspace_name } = workspace;
  return { organization_id, plan, workspace_id, workspace_name, role, actor };
}

function isMember(db: Database, user_id: typeof users.id | typeof api_keys.user_id): SQL {
  const own = and(eq(memberships.user_id, user_id), eq(memberships.workspace_id, workspaces.id));
  return exists(db.select({ one: sql`1` }).from(memberships).where(own));
}

function isNamed(tenant: string | null): SQL | undefined {
  return tenant === null ? undefined : eq(workspaces.id, tenant);
}
