// SQL of `npm run workspace`, one statement on each line. The last statement selects the rows to print: of a change, no
// row means that a name or id does not exist.
import { newApiKey } from "../src/control-plane/workspaces/keys/keys.ts";
import { newId } from "../src/shared/storage/ids.ts";
import { quote, type ROLES } from "./workspace-sql.ts";

type Role = (typeof ROLES)[number];

/** `name` of a workspace, or `undefined` for the organization. */
export type Scope = { org: string; name: string | undefined };
export type KeyOrder = Scope & { role: Role; description: string; expires_at: string | undefined };
export type MemberOrder = { org: string; name: string; email: string; role: Role };

export function listKeys({ org, name }: Scope): string {
  const inWorkspace = name === undefined ? "" : ` AND workspaces.name = ${quote(name)}`;
  return `SELECT api_keys.id, prefix || '...' AS key, kind, coalesce(workspaces.name, '(all)') AS workspace, coalesce(role, '(its user)') AS role, description, users.email AS user, expires_at, last_used_at FROM api_keys JOIN organizations ON organizations.id = api_keys.organization_id LEFT JOIN workspaces ON workspaces.id = api_keys.workspace_id LEFT JOIN users ON users.id = api_keys.user_id WHERE revoked_at IS NULL AND organizations.name = ${quote(org)}${inWorkspace} ORDER BY api_keys.id;`;
}

export function createKey(order: KeyOrder): { sql: string; api_key: string } {
  const { org, name, role, description, expires_at } = order;
  const { api_key, sha256, prefix } = newApiKey("service");
  const [id, now] = [quote(newId()), quote(new Date().toISOString())];
  const workspace = name === undefined ? "NULL" : "workspaces.id";
  const joined =
    name === undefined
      ? ""
      : ` JOIN workspaces ON workspaces.organization_id = organizations.id AND workspaces.name = ${quote(name)}`;
  const expiry = expires_at === undefined ? "NULL" : quote(expires_at);
  const lines = [
    `INSERT INTO api_keys (id, sha256, prefix, kind, organization_id, workspace_id, role, description, created_at, expires_at) SELECT ${id}, ${quote(sha256)}, ${quote(prefix)}, 'service', organizations.id, ${workspace}, ${quote(role)}, ${quote(description)}, ${now}, ${expiry} FROM organizations${joined} WHERE organizations.name = ${quote(org)};`,
    `SELECT id, role, expires_at FROM api_keys WHERE id = ${id};`,
  ];
  return { sql: lines.join("\n"), api_key };
}

/** Revokes any key, unlike the API also that of the last admin: operators are trusted. */
export function revokeKey(id: string): string {
  const now = quote(new Date().toISOString());
  return [
    `UPDATE api_keys SET revoked_at = coalesce(revoked_at, ${now}) WHERE id = ${quote(id)};`,
    `SELECT id, prefix || '...' AS key, revoked_at FROM api_keys WHERE id = ${quote(id)};`,
  ].join("\n");
}

export function listMembers({ org, name }: Scope): string {
  const inWorkspace = name === undefined ? "" : ` AND workspaces.name = ${quote(name)}`;
  return `SELECT users.id, email, organization_role, workspaces.name AS workspace, memberships.role, oidc_subject IS NOT NULL AS signed_in FROM users JOIN organizations ON organizations.id = users.organization_id LEFT JOIN memberships ON memberships.user_id = users.id LEFT JOIN workspaces ON workspaces.id = memberships.workspace_id WHERE organizations.name = ${quote(org)}${inWorkspace} ORDER BY email, workspaces.name;`;
}

/** Adds the user where the organization has none with this email, and sets the role in the workspace. */
export function addMember({ org, name, email, role }: MemberOrder): string {
  const address = quote(email.toLowerCase());
  const now = quote(new Date().toISOString());
  return [
    `INSERT INTO users (id, organization_id, email, created_at) SELECT ${quote(newId())}, organizations.id, ${address}, ${now} FROM organizations JOIN workspaces ON workspaces.organization_id = organizations.id WHERE organizations.name = ${quote(org)} AND workspaces.name = ${quote(name)} ON CONFLICT (email, organization_id) DO NOTHING;`,
    `INSERT INTO memberships (user_id, workspace_id, role) SELECT users.id, workspaces.id, ${quote(role)} FROM users ${inScope(org, name)} AND email = ${address} ON CONFLICT (user_id, workspace_id) DO UPDATE SET role = excluded.role;`,
    `SELECT users.id, email, (SELECT role FROM memberships WHERE user_id = users.id AND workspace_id = workspaces.id) AS role FROM users ${inScope(org, name)} AND email = ${address};`,
  ].join("\n");
}

/**
 * Removes a user from a workspace. A user without another workspace, who is not an admin of the organization, loses the
 * personal keys, as over HTTP.
 */
export function removeMember({ org, name, email }: Omit<MemberOrder, "role">): string {
  const address = quote(email.toLowerCase());
  const now = quote(new Date().toISOString());
  const user = `(SELECT users.id FROM users ${inScope(org, name)} AND email = ${address})`;
  return [
    `DELETE FROM memberships WHERE user_id = ${user} AND workspace_id = (SELECT workspaces.id FROM workspaces JOIN organizations ON organizations.id = workspaces.organization_id WHERE organizations.name = ${quote(org)} AND workspaces.name = ${quote(name)});`,
    `UPDATE api_keys SET revoked_at = coalesce(revoked_at, ${now}) WHERE user_id = ${user} AND NOT EXISTS (SELECT 1 FROM memberships WHERE memberships.user_id = api_keys.user_id) AND EXISTS (SELECT 1 FROM users WHERE users.id = api_keys.user_id AND organization_role = 'user');`,
    `SELECT users.id, email FROM users ${inScope(org, name)} AND email = ${address};`,
  ].join("\n");
}

export function setOrganizationRole(org: string, email: string, role: "admin" | "user"): string {
  const address = quote(email.toLowerCase());
  const isMeant = `email = ${address} AND organization_id = (SELECT id FROM organizations WHERE name = ${quote(org)})`;
  return [
    `UPDATE users SET organization_role = ${quote(role)} WHERE ${isMeant};`,
    `SELECT id, email, organization_role FROM users WHERE ${isMeant};`,
  ].join("\n");
}

function inScope(org: string, name: string): string {
  return `JOIN organizations ON organizations.id = users.organization_id JOIN workspaces ON workspaces.organization_id = organizations.id WHERE organizations.name = ${quote(org)} AND workspaces.name = ${quote(name)}`;
}
