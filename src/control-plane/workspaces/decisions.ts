import { and, eq, sql } from "drizzle-orm";
import type { Database } from "../../shared/context.ts";
import { log } from "../../shared/log.ts";
import { newId } from "../../shared/storage/ids.ts";
import { users, workspaces } from "./table.ts";

/** A user of an organization, and the workspaces that it reaches. */
export type PersonReach = { user_id: string; workspace_ids: string[] };

/** A change that a person made without a workspace: of an invitation, or of the membership in an organization. */
type Decision = { request_id: string; action: string; resource: { name: string; id: string } };

/** Status of the responses of operations on invitations. */
const STATUS = 204;

export async function findReach(db: Database, user_id: string): Promise<PersonReach> {
  const isReached = sql`(${users.organization_role} = 'admin' OR EXISTS (
    SELECT 1 FROM memberships m WHERE m.user_id = ${users.id} AND m.workspace_id = ${workspaces.id}))`;
  const reached = await db
    .select({ id: workspaces.id })
    .from(users)
    .innerJoin(workspaces, eq(workspaces.organization_id, users.organization_id))
    .where(and(eq(users.id, user_id), isReached));
  return { user_id, workspace_ids: reached.map(({ id }) => id) };
}

/**
 * Adds the decision to the audit log of each workspace that it concerns. The change is already made, so a failure is
 * only logged.
 */
export async function recordDecision(
  db: Database,
  person: PersonReach,
  decision: Decision,
): Promise<void> {
  await insertEntries(db, person, decision).catch((error: unknown) => {
    const { request_id, action, resource } = decision;
    const change = { request_id, action, resources: resource.id, status: STATUS };
    const { user_id, workspace_ids } = person;
    log.error("audit_failed", error, { ...change, user_id, workspace_ids: String(workspace_ids) });
  });
}

async function insertEntries(
  db: Database,
  { user_id, workspace_ids }: PersonReach,
  { request_id, action, resource }: Decision,
): Promise<void> {
  const created_at = new Date().toISOString();
  const rows = workspace_ids.map((workspace_id) => ({ id: newId(), workspace_id }));
  await db.run(sql`INSERT INTO audit_logs
      (id, workspace_id, created_at, request_id, action, actor_type, actor_id, user_id, resources, status)
    SELECT value ->> 'id', value ->> 'workspace_id', ${created_at}, ${request_id}, ${action}, 'user', ${user_id},
      ${user_id}, ${JSON.stringify([resource])}, ${STATUS}
    FROM json_each(${JSON.stringify(rows)})`);
}
