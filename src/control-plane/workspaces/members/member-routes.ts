import { router } from "../../../shared/http/http.ts";
import { body, ErrorDetail, json, operationWithTag } from "../../../shared/schema.ts";
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

const operation = operationWithTag("Members");
const taken = {
  409: json(ErrorDetail, "The person is a member with another role, or the workspace is full"),
};
const last = {
  409: json(ErrorDetail, "The member is the last admin of the workspace or of the organization"),
};
const changed = { 200: json(WorkspaceMember, "The updated member") };

const list = operation("get", MEMBERS, "listMembers", {
  summary: "List workspace members",
  description: "Admins of the organization are listed only if they are members. For admins.",
  responses: { 200: json(WorkspaceMembers, "Members, by email address") },
});
memberRoutes.openapi(list, async (c) => c.json(await listMembers(c.var.ctx), 200));

const add = operation("post", MEMBERS, "addMember", {
  summary: "Add a workspace member",
  description:
    "Invites the person, who signs in with the configured issuer and accepts. A person without any workspace accepts the oldest invitation of the verified email address by signing in. No email is sent. For admins.",
  request: { body: body(MemberCreateRequest) },
  responses: {
    200: json(WorkspaceMember, "The member"),
    404: json(ErrorDetail, "The organization has no user with this user_id"),
    ...taken,
  },
});
memberRoutes.openapi(add, async (c) =>
  c.json(await addMember(c.var.ctx, c.req.valid("json")), 200),
);

const addBatch = operation("post", `${MEMBERS}/batch`, "addMembers", {
  summary: "Add workspace members",
  description:
    "Adds up to 500 members. A member that already has the role is returned unchanged. For admins.",
  request: { body: body(MemberBatchRequest) },
  responses: { 200: json(WorkspaceMemberList, "The members"), ...taken },
});
memberRoutes.openapi(addBatch, async (c) =>
  c.json(await addMembers(c.var.ctx, c.req.valid("json")), 200),
);

const update = operation("patch", `${MEMBERS}/{identity_id}`, "updateMember", {
  summary: "Update a workspace member",
  description: "Changes the role. Takes effect within 10 seconds. For admins.",
  request: { params: MemberPath, body: body(MemberPatchRequest) },
  responses: { ...changed, ...last },
});
memberRoutes.openapi(update, async (c) => {
  const { identity_id } = c.req.valid("param");
  return c.json(await updateMember(c.var.ctx, identity_id, c.req.valid("json")), 200);
});

const remove = operation("delete", `${MEMBERS}/{identity_id}`, "removeMember", {
  summary: "Remove a workspace member",
  description:
    "Takes effect within 10 seconds, also for the member's personal keys. Removal from the last workspace revokes those keys permanently, except those of an admin of the organization. For admins.",
  request: { params: MemberPath },
  responses: { 200: json(WorkspaceMember, "The removed member"), ...last },
});
memberRoutes.openapi(remove, async (c) =>
  c.json(await removeMember(c.var.ctx, c.req.valid("param").identity_id), 200),
);

const roles = operation("get", "/api/v1/orgs/current/roles", "listRoles", {
  summary: "List roles",
  description: "The ids are the same in every organization.",
  responses: { 200: json(RoleList, "Roles of workspaces and of the organization") },
});
memberRoutes.openapi(roles, (c) => c.json(listRoles(), 200));

const listUsers = operation("get", USERS, "listOrganizationMembers", {
  summary: "List organization members",
  description: "For admins of the organization.",
  responses: { 200: json(OrganizationMembers, "Users, by email address") },
});
memberRoutes.openapi(listUsers, async (c) => c.json(await listOrganizationMembers(c.var.ctx), 200));

const updateUser = operation("patch", `${USERS}/{identity_id}`, "updateOrganizationMember", {
  summary: "Update an organization member",
  description:
    "Changes the organization role. An admin of the organization is an admin of every workspace. For admins of the organization.",
  request: { params: MemberPath, body: body(OrganizationMemberPatchRequest) },
  responses: {
    200: json(OrganizationMember, "The updated member"),
    ...last,
  },
});
memberRoutes.openapi(updateUser, async (c) => {
  const { identity_id } = c.req.valid("param");
  return c.json(await updateOrganizationMember(c.var.ctx, identity_id, c.req.valid("json")), 200);
});

const removeUser = operation("delete", `${USERS}/{identity_id}`, "removeOrganizationMember", {
  summary: "Remove an organization member",
  description:
    "Deletes the user with all memberships and personal keys. For admins of the organization.",
  request: { params: MemberPath },
  responses: {
    200: json(OrganizationMember, "The removed member"),
    ...last,
  },
});
memberRoutes.openapi(removeUser, async (c) =>
  c.json(await removeOrganizationMember(c.var.ctx, c.req.valid("param").identity_id), 200),
);
