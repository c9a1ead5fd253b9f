import { and, eq } from "drizzle-orm";
import { newApiKey } from "../../src/control-plane/workspaces/keys/keys.ts";
import {
  api_keys,
  memberships,
  organizations,
  users,
  workspaces,
} from "../../src/control-plane/workspaces/table.ts";
import type { Database, Role } from "../../src/shared/context.ts";
import { newId } from "../../src/shared/storage/ids.ts";

type Plan = (typeof organizations.$inferSelect)["plan"];
type Created = { id: string };

/** `workspace_id` null makes a service key that reaches every workspace of its organization. */
type NewApiKey = { expires_at?: string } & (
  | { kind: "service"; organization_id: string; workspace_id: string | null; role: Role }
  | { kind: "personal"; organization_id: string; user_id: string }
);

export async function createOrganization(
  db: Database,
  input: { name: string; plan: Plan },
): Promise<Created> {
  const row = { id: newId(), ...input, created_at: now() };
  await db.insert(organizations).values(row);
  return { id: row.id };
}

export async function createWorkspace(
  db: Database,
  input: { organization_id: string; name: string },
): Promise<Created> {
  const row = { id: newId(), ...input, created_at: now() };
  await db.insert(workspaces).values(row);
  return { id: row.id };
}

export async function createUser(
  db: Database,
  input: {
    organization_id: string;
    email: string;
    oidc_subject?: string;
    organization_role?: "admin" | "user";
  },
): Promise<Created> {
  const row = { id: newId(), ...input, email: input.email.toLowerCase(), created_at: now() };
  await db.insert(users).values(row);
  return { id: row.id };
}

/** Both ids must be of one organization. */
export async function setMembership(
  db: Database,
  input: { user_id: string; workspace_id: string; role: Role },
): Promise<void> {
  const target = [memberships.user_id, memberships.workspace_id];
  await db
    .insert(memberships)
    .values(input)
    .onConflictDoUpdate({ target, set: { role: input.role } });
}

export async function createApiKey(
  db: Database,
  input: NewApiKey,
): Promise<Created & { api_key: string }> {
  const { api_key, sha256, prefix } = newApiKey(input.kind);
  const id = newId();
  await db.insert(api_keys).values({ id, sha256, prefix, ...input, created_at: now() });
  return { id, api_key };
}

export async function revokeApiKey(
  db: Database,
  input: { organization_id: string; api_key_id: string },
): Promise<void> {
  await db
    .update(api_keys)
    .set({ revoked_at: now() })
    .where(
      and(eq(api_keys.id, input.api_key_id), eq(api_keys.organization_id, input.organization_id)),
    );
}

function now(): string {
  return new Date().toISOString();
}
