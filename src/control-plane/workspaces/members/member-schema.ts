import { z } from "@hono/zod-openapi";
import { CreatedAt, namedObject, textField, Uuid } from "../../../shared/schema.ts";
import { OrganizationRoleName, RoleId, WorkspaceRole } from "../roles.ts";

const EXAMPLE = {
  id: "019a2b3c-0000-7000-8000-000000000002",
  user_id: "019a2b3c-0000-7000-8000-000000000002",
  email: "ada@example.com",
  organization_id: "019a2b3c-0000-7000-8000-000000000003",
  created_at: "2026-11-20T12:00:00.000Z",
  org_role_id: "6f1c9d20-0002-4000-8000-000000000002",
  org_role_name: "ORGANIZATION_USER",
} as const;
const WORKSPACE_EXAMPLE = {
  ...EXAMPLE,
  tenant_id: "019a2b3c-0000-7000-8000-000000000001",
  access_scope: "workspace",
  role: "editor",
  role_id: "6f1c9d20-0001-4000-8000-000000000002",
  role_name: "WORKSPACE_USER",
} as const;
const ORGANIZATION_EXAMPLE = {
  ...EXAMPLE,
  access_scope: "organization",
  role: "user",
  role_id: EXAMPLE.org_role_id,
  role_name: EXAMPLE.org_role_name,
  tenant_ids: [WORKSPACE_EXAMPLE.tenant_id],
} as const;

const Email = z.email("must be an email address").trim().max(254).toLowerCase();

const Choice = { role: WorkspaceRole.nullish().describe("Role in the workspace"), role_id: RoleId };

export const MemberCreateRequest = z
  .object({
    email: Email.nullish().describe(
      "Email address. Creates the user when the organization has none with this address",
    ),
    user_id: Uuid.nullish().describe("Id of a user of the organization. Alternative to `email`"),
    ...Choice,
  })
  .openapi("MemberCreateRequest", { example: { email: EXAMPLE.email, role: "editor" } });
export type MemberCreateRequest = z.infer<typeof MemberCreateRequest>;

export const MemberBatchRequest = z
  .array(
    z.object({
      email: Email.openapi({
        description: "Email address of the person",
        example: "ada@example.com",
      }),
      ...Choice,
      workspace_role_id: RoleId.describe("The same as `role_id`"),
    }),
  )
  .min(1)
  .max(500)
  .openapi("MemberBatchRequest", { example: [{ email: EXAMPLE.email, role: "editor" }] });
export type MemberBatchRequest = z.infer<typeof MemberBatchRequest>;

export const MemberPatchRequest = z
  .object(Choice)
  .openapi("MemberPatchRequest", { example: { role: "viewer" } });
export type MemberPatchRequest = z.infer<typeof MemberPatchRequest>;

export const OrganizationMemberPatchRequest = z
  .object({
    role: OrganizationRoleName.nullish().describe("Role in the organization"),
    role_id: RoleId,
  })
  .openapi("OrganizationMemberPatchRequest", { example: { role: "admin" } });
export type OrganizationMemberPatchRequest = z.infer<typeof OrganizationMemberPatchRequest>;

const Identity = {
  id: Uuid.describe("Id of the member: `identity_id` in paths"),
  user_id: Uuid.describe("Id of the user"),
  email: textField("Email address", "ada@example.com"),
  organization_id: Uuid.describe("Id of the organization"),
  created_at: CreatedAt,
  role_id: Uuid.describe("Id of the role"),
  role_name: textField("Name of the role", "WORKSPACE_USER"),
  org_role_id: Uuid.describe("Id of the role in the organization"),
  org_role_name: textField("Name of the role in the organization", "ORGANIZATION_USER"),
};

export const WorkspaceMember = z
  .object({
    ...Identity,
    tenant_id: Uuid.describe("Id of the workspace"),
    access_scope: z.literal("workspace").describe("Scope of the role"),
    role: WorkspaceRole.describe("Role in the workspace"),
  })
  .openapi("WorkspaceMember", { example: WORKSPACE_EXAMPLE });
export type WorkspaceMember = z.infer<typeof WorkspaceMember>;

const PENDING = "Members who have not accepted yet, by email address";

export const WorkspaceMembers = namedObject("WorkspaceMembers", {
  tenant_id: Uuid.describe("Id of the workspace"),
  members: z.array(WorkspaceMember).describe("Members who have accepted, by email address"),
  pending: z.array(WorkspaceMember).describe(PENDING),
});
export type WorkspaceMembers = z.infer<typeof WorkspaceMembers>;

export const WorkspaceMemberList = z.array(WorkspaceMember);

export const OrganizationMember = z
  .object({
    ...Identity,
    access_scope: z.literal("organization").describe("Scope of the role"),
    role: OrganizationRoleName.describe("Role in the organization"),
    tenant_ids: z.array(Uuid).describe("Ids of the workspaces that the user is a member of"),
  })
  .openapi("OrganizationMember", { example: ORGANIZATION_EXAMPLE });
export type OrganizationMember = z.infer<typeof OrganizationMember>;

export const OrganizationMembers = namedObject("OrganizationMembers", {
  organization_id: Uuid.describe("Id of the organization"),
  members: z.array(OrganizationMember).describe("Members who have accepted, by email address"),
  pending: z.array(OrganizationMember).describe(PENDING),
});
export type OrganizationMembers = z.infer<typeof OrganizationMembers>;

export const RoleList = z.array(
  namedObject("Role", {
    id: Uuid.describe("Id of the role"),
    name: textField("Name of the role", "WORKSPACE_USER"),
    role: textField("Short name, for `role` in requests", "editor"),
    access_scope: z.enum(["workspace", "organization"]).describe("Scope of the role"),
    description: textField(
      "What the role allows",
      "Reads and changes; deletes no deployments, projects or traces; no exports",
    ),
  }),
);
export type RoleList = z.infer<typeof RoleList>;

export const MemberPath = z.object({ identity_id: Uuid.describe("Id of the member") });
