import { z } from "@hono/zod-openapi";
import type { Role } from "../../shared/context.ts";
import { AppError, invalid } from "../../shared/errors.ts";
import { Uuid } from "../../shared/schema.ts";

export type OrganizationRole = "admin" | "user";

/** Roles with fixed ids, and with the names of LangSmith's roles. */
const WORKSPACE_ROLES = [
  { role: "admin", id: "6f1c9d20-0001-4000-8000-000000000001", name: "WORKSPACE_ADMIN" },
  { role: "editor", id: "6f1c9d20-0001-4000-8000-000000000002", name: "WORKSPACE_USER" },
  { role: "viewer", id: "6f1c9d20-0001-4000-8000-000000000003", name: "WORKSPACE_READER" },
] as const;
const ORGANIZATION_ROLES = [
  { role: "admin", id: "6f1c9d20-0002-4000-8000-000000000001", name: "ORGANIZATION_ADMIN" },
  { role: "user", id: "6f1c9d20-0002-4000-8000-000000000002", name: "ORGANIZATION_USER" },
] as const;

const DESCRIPTIONS = {
  WORKSPACE_ADMIN: "Reads, changes, deletes; manages keys and members of the workspace",
  WORKSPACE_USER: "Reads and changes; deletes no deployments, projects or traces; no exports",
  WORKSPACE_READER: "Reads",
  ORGANIZATION_ADMIN: "Admin of every workspace; manages organization-wide keys and members",
  ORGANIZATION_USER: "Has a role in the workspaces it is a member of",
};

export const ROLE_LIST = [
  ...WORKSPACE_ROLES.map((role) => ({ ...role, access_scope: "workspace" as const })),
  ...ORGANIZATION_ROLES.map((role) => ({ ...role, access_scope: "organization" as const })),
].map((role) => ({ ...role, description: DESCRIPTIONS[role.name] }));

export const RoleId = Uuid.nullish().openapi({
  description: "Id of the role, from `GET /api/v1/orgs/current/roles`. Alternative to `role`",
  example: WORKSPACE_ROLES[1].id,
});
export const WorkspaceRole = z.enum(["admin", "editor", "viewer"]);
export const OrganizationRoleName = z.enum(["admin", "user"]);

type Choice<R> = { role?: R | null | undefined; role_id?: string | null | undefined };

export function workspaceRoleOf(choice: Choice<Role>, standard?: Role): Role {
  return roleOf(WORKSPACE_ROLES, choice, standard);
}

export function organizationRoleOf(choice: Choice<OrganizationRole>): OrganizationRole {
  return roleOf(ORGANIZATION_ROLES, choice);
}

export function workspaceRoleFields(role: Role) {
  return fieldsOf(WORKSPACE_ROLES, role);
}

export function organizationRoleFields(role: OrganizationRole) {
  return fieldsOf(ORGANIZATION_ROLES, role);
}

function roleOf<R extends string>(
  roles: readonly { role: R; id: string }[],
  { role, role_id }: Choice<R>,
  standard?: R,
): R {
  const byId = roles.find(({ id }) => id === role_id)?.role;
  if (role_id && byId === undefined) {
    const allowed = roles.map(({ id, role: name }) => `${id} (${name})`).join(", ");
    throw invalid(["body", "role_id"], `must be one of ${allowed}`);
  }
  if (role && byId && role !== byId) {
    throw new AppError("bad_request", "role and role_id are different roles: send one of the two.");
  }
  const found = role ?? byId ?? standard;
  if (found !== undefined) return found;
  throw invalid(["body", "role"], `required: ${roles.map((one) => one.role).join(", ")}`);
}

function fieldsOf(roles: readonly { role: string; id: string; name: string }[], role: string) {
  const found = roles.find((one) => one.role === role);
  if (found === undefined) throw new AppError("internal", `Unknown role ${role}.`);
  return { role_id: found.id, role_name: found.name };
}
