import type { Context } from "hono";
import { createMiddleware } from "hono/factory";
import { type AppEnv, database } from "../../../shared/context.ts";
import { router } from "../../../shared/http/http.ts";
import { ErrorDetail, json, operationWithTag } from "../../../shared/schema.ts";
import type { Resource } from "../audit/changes.ts";
import { resolvePrincipal } from "../auth.ts";
import { type PersonReach, recordDecision } from "../decisions.ts";
import { InvitationList, InvitationPath, OrganizationPath } from "./invitation-schema.ts";
import {
  acceptInvitation,
  declineInvitation,
  leaveOrganization,
  listInvitations,
} from "./invitation-service.ts";

/** Routes of a signed-in person, outside of any workspace. */
export const invitationRoutes = router();

/** Only the credential is checked here: one of its workspaces is enough. */
const MAX_WORKSPACES = 1;

/** Checks the credential before the ids are validated: an anonymous request gets a 401 in any case. */
const requirePrincipal = createMiddleware<AppEnv>(async (c, next) => {
  await resolvePrincipal(c.env, c.req.raw.headers, MAX_WORKSPACES);
  await next();
});
invitationRoutes.use("/v1/invitations/*", requirePrincipal);
invitationRoutes.use("/v1/me/organizations/*", requirePrincipal);

const operation = operationWithTag("Sessions");
const PATH = "/v1/invitations";

function record(c: Context<AppEnv>, action: string, member: PersonReach, resource: Resource) {
  const request_id = c.var.requestId;
  return recordDecision(database(c.env), member, { request_id, action, resource });
}

const list = operation("get", PATH, "listInvitations", {
  summary: "List invitations",
  description:
    "Organizations that have added the verified email of the person. An invitation changes nothing until it is accepted. For people who sign in with the issuer.",
  responses: { 200: json(InvitationList, "The invitations") },
});
invitationRoutes.openapi(list, async (c) =>
  c.json(await listInvitations(c.env, c.req.raw.headers), 200),
);

const accept = operation("post", `${PATH}/{invitation_id}/accept`, "acceptInvitation", {
  summary: "Accept an invitation",
  description:
    "Makes the person a member of the organization and of the workspaces of the invitation.",
  request: { params: InvitationPath },
  responses: {
    204: { description: "The invitation is accepted" },
    409: json(ErrorDetail, "The person is a member of the organization with another address"),
  },
});
invitationRoutes.openapi(accept, async (c) => {
  const { invitation_id } = c.req.valid("param");
  const member = await acceptInvitation(c.env, c.req.raw.headers, invitation_id);
  await record(c, "acceptInvitation", member, { name: "invitation_id", id: invitation_id });
  return c.body(null, 204);
});

const decline = operation("delete", `${PATH}/{invitation_id}`, "declineInvitation", {
  summary: "Decline an invitation",
  description: "The organization may invite the address again.",
  request: { params: InvitationPath },
  responses: { 204: { description: "The invitation is deleted" } },
});
invitationRoutes.openapi(decline, async (c) => {
  const { invitation_id } = c.req.valid("param");
  const member = await declineInvitation(c.env, c.req.raw.headers, invitation_id);
  await record(c, "declineInvitation", member, { name: "invitation_id", id: invitation_id });
  return c.body(null, 204);
});

const leave = operation("delete", "/v1/me/organizations/{organization_id}", "leaveOrganization", {
  summary: "Leave an organization",
  description:
    "Deletes the person's memberships and personal keys in the organization. Takes effect within 10 seconds.",
  request: { params: OrganizationPath },
  responses: {
    204: { description: "The membership has ended" },
    409: json(ErrorDetail, "The person is the last admin"),
  },
});
invitationRoutes.openapi(leave, async (c) => {
  const { organization_id } = c.req.valid("param");
  const member = await leaveOrganization(c.env, c.req.raw.headers, organization_id);
  await record(c, "leaveOrganization", member, { name: "organization_id", id: organization_id });
  return c.body(null, 204);
});
