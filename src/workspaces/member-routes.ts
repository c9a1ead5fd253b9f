import { createRoute } from "@hono/zod-openapi";
import { router } from "../shared/http.ts";
import { body, bodyRefusals, ErrorDetail, json, refusals } from "../shared/schema.ts";
import {
  MemberBatchRequest,
  MemberCreateRequest,
  MemberPatchRequest,
  MemberPath,
  OrganizationMember,
  OrganizationMemberPatchRequest,
  OrganizationMembers,
  RoleList,
  WorkspaceMember,
  WorkspaceMemberList,
  WorkspaceMembers,
} from "./member-schema.ts";
import {
  addMember,
  addMembers,
  listMembers,
  removeMember,
  updateMember,
} from "./member-service.ts";
import {
  listOrganizationMembers,
  listRoles,
  removeOrganizationMember,
  updateOrganizationMember,
} from "./organization-service.ts";

const MEMBERS = "/api/v1/workspaces/current/members";
const USERS = "/api/v1/orgs/current/members";

export const memberRoutes = router();

const tags = ["Members"];
const missing = { 404: json(ErrorDetail, "No such member") };
const taken = { 409: json(ErrorDetail, "A member with another role, or the workspace is full") };
const last = { 409: json(ErrorDetail, "The member is the last admin") };
const changed = { 200: json(WorkspaceMember, "The member as it is now") };

const list = createRoute({
  method: "get",
  path: MEMBERS,
  operationId: "listMembers",
  tags,
  summary: "List members of the workspace",
  description: "For admins. Admins of the organization are not listed unless they are members.",
  responses: { 200: json(WorkspaceMembers, "Members, by email"), ...refusals },
});
memberRoutes.openapi(list, async (c) => c.json(await listMembers(c.var.ctx), 200));

const add = createRoute({
  method: "post",
  path: MEMBERS,
  operationId: "addMember",
  tags,
  summary: "Add a member to the workspace",
  description:
    "For admins. The person signs in with a bearer token of the configured issuer that has this email, verified. No message is sent.",
  request: { body: body(MemberCreateRequest) },
  responses: { 200: json(WorkspaceMember, "The member"), ...bodyRefusals, ...missing, ...taken },
});
memberRoutes.openapi(add, async (c) =>
  c.json(await addMember(c.var.ctx, c.req.valid("json")), 200),
);

const addBatch = createRoute({
  method: "post",
  path: `${MEMBERS}/batch`,
  operationId: "addMembers",
  tags,
  summary: "Add up to 500 members",
  description: "For admins. A member with the same role already is answered as it is.",
  request: { body: body(MemberBatchRequest) },
  responses: { 200: json(WorkspaceMemberList, "The members"), ...bodyRefusals, ...taken },
});
memberRoutes.openapi(addBatch, async (c) =>
  c.json(await addMembers(c.var.ctx, c.req.valid("json")), 200),
);

const update = createRoute({
  method: "patch",
  path: `${MEMBERS}/{identity_id}`,
  operationId: "updateMember",
  tags,
  summary: "Change the role of a member",
  description: "For admins. Takes effect within 10 seconds.",
  request: { params: MemberPath, body: body(MemberPatchRequest) },
  responses: { ...changed, ...bodyRefusals, ...missing, ...last },
});
memberRoutes.openapi(update, async (c) => {
  const { identity_id } = c.req.valid("param");
  return c.json(await updateMember(c.var.ctx, identity_id, c.req.valid("json")), 200);
});

const remove = createRoute({
  method: "delete",
  path: `${MEMBERS}/{identity_id}`,
  operationId: "removeMember",
  tags,
  summary: "Remove a member from the workspace",
  description:
    "For admins. Takes effect within 10 seconds, for the member's personal keys too. With the last workspace, those keys are revoked for good.",
  request: { params: MemberPath },
  responses: { 200: json(WorkspaceMember, "The removed member"), ...refusals, ...missing, ...last },
});
memberRoutes.openapi(remove, async (c) =>
  c.json(await removeMember(c.var.ctx, c.req.valid("param").identity_id), 200),
);

const roles = createRoute({
  method: "get",
  path: "/api/v1/orgs/current/roles",
  operationId: "listRoles",
  tags,
  summary: "List roles",
  description: "The ids are the same in every organization.",
  responses: { 200: json(RoleList, "Roles of workspaces and of the organization"), ...refusals },
});
memberRoutes.openapi(roles, (c) => c.json(listRoles(), 200));

const listUsers = createRoute({
  method: "get",
  path: USERS,
  operationId: "listOrganizationMembers",
  tags,
  summary: "List members of the organization",
  description: "For admins of the organization.",
  responses: { 200: json(OrganizationMembers, "Users, by email"), ...refusals },
});
memberRoutes.openapi(listUsers, async (c) => c.json(await listOrganizationMembers(c.var.ctx), 200));

const updateUser = createRoute({
  method: "patch",
  path: `${USERS}/{identity_id}`,
  operationId: "updateOrganizationMember",
  tags,
  summary: "Change the organization role of a member",
  description: "For admins of the organization. An admin of it is an admin of every workspace.",
  request: { params: MemberPath, body: body(OrganizationMemberPatchRequest) },
  responses: {
    200: json(OrganizationMember, "The member as it is now"),
    ...bodyRefusals,
    ...missing,
    ...last,
  },
});
memberRoutes.openapi(updateUser, async (c) => {
  const { identity_id } = c.req.valid("param");
  return c.json(await updateOrganizationMember(c.var.ctx, identity_id, c.req.valid("json")), 200);
});

const removeUser = createRoute({
  method: "delete",
  path: `${USERS}/{identity_id}`,
  operationId: "removeOrganizationMember",
  tags,
  summary: "Remove a member from the organization",
  description:
    "For admins of the organization. Deletes the user with all memberships and personal keys.",
  request: { params: MemberPath },
  responses: {
    200: json(OrganizationMember, "The removed member"),
    ...refusals,
    ...missing,
    ...last,
  },
});
memberRoutes.openapi(removeUser, async (c) =>
  c.json(await removeOrganizationMember(c.var.ctx, c.req.valid("param").identity_id), 200),
);
