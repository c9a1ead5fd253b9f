import { newApiKey } from "../src/control-plane/workspaces/keys/keys.ts";
import { newId } from "../src/shared/storage/ids.ts";

export const PLANS = ["developer", "plus", "enterprise"] as const;
export const ROLES = ["admin", "editor", "viewer"] as const;

export type NewWorkspace = {
  org: string;
  plan: (typeof PLANS)[number];
  name: string;
  role: (typeof ROLES)[number];
  now?: Date;
};

/**
 * Returns SQL, one statement on each line. It creates the organization and the workspace unless they exist by name,
 * sets the plan, and adds a key.
 */
export function workspaceStatements(input: NewWorkspace): { sql: string; api_key: string } {
  const { api_key, sha256, prefix } = newApiKey("service");
  const [org, name, now] = [
    quote(input.org),
    quote(input.name),
    quote((input.now ?? new Date()).toISOString()),
  ];
  const lines = [
    `INSERT INTO organizations (id, name, plan, created_at) VALUES (${quote(newId())}, ${org}, ${quote(input.plan)}, ${now}) ON CONFLICT (name) DO UPDATE SET plan = excluded.plan;`,
    `INSERT INTO workspaces (id, organization_id, name, created_at) SELECT ${quote(newId())}, id, ${name}, ${now} FROM organizations WHERE name = ${org} ON CONFLICT (organization_id, name) DO NOTHING;`,
    `INSERT INTO api_keys (id, sha256, prefix, kind, organization_id, workspace_id, role, created_at) SELECT ${quote(newId())}, ${quote(sha256)}, ${quote(prefix)}, 'service', organization_id, id, ${quote(input.role)}, ${now} FROM workspaces WHERE name = ${name} AND organization_id = (SELECT id FROM organizations WHERE name = ${org});`,
  ];
  return { sql: lines.join("\n"), api_key };
}

/** Selects organization_id and tenant_id. */
export function workspaceQuery({ org, name }: Pick<NewWorkspace, "org" | "name">): string {
  return `SELECT organizations.id AS organization_id, workspaces.id AS tenant_id FROM workspaces JOIN organizations ON organizations.id = workspaces.organization_id WHERE organizations.name = ${quote(org)} AND workspaces.name = ${quote(name)};`;
}

export function quote(text: string): string {
  return `'${text.replaceAll("'", "''")}'`;
}
