import { z } from "@hono/zod-openapi";
import { CreatedAt, namedObject, textField, Uuid } from "../../../shared/schema.ts";
import { WorkspaceRole } from "../roles.ts";

export const Invitation = namedObject("Invitation", {
  id: Uuid.describe("Id of the invitation"),
  organization: z
    .object({
      id: Uuid.describe("Id of the organization"),
      name: textField("Name of the organization", "Acme"),
    })
    .describe("The organization that invites"),
  workspaces: z
    .array(
      z.object({
        id: Uuid.describe("Id of the workspace"),
        name: textField("Name of the workspace", "production"),
        role: WorkspaceRole.describe("Role in the workspace"),
      }),
    )
    .describe("Workspaces that acceptance opens"),
  created_at: CreatedAt,
});
export type Invitation = z.infer<typeof Invitation>;

export const InvitationList = namedObject("InvitationList", {
  invitations: z.array(Invitation).describe("Invitations of the person's email, oldest first"),
});
export type InvitationList = z.infer<typeof InvitationList>;

export const InvitationPath = z.object({ invitation_id: Uuid.describe("Id of the invitation") });
export const OrganizationPath = z.object({
  organization_id: Uuid.describe("Id of the organization"),
});
