import { env } from "cloudflare:workers";
import { describe, expect, test } from "vitest";
import { database, type Role } from "../../../src/shared/context.ts";
import { createApiKey, createWorkspace } from "../../support/organizations.ts";
import { api, type TestWorkspace, workspace } from "../../support/workspace.ts";

const db = database(env);
const MEMBERS = "/api/v1/workspaces/current/members";
const USERS = "/api/v1/orgs/current/members";

type Member = { id: string; email: string; role: string; user_id: string };
type Call = Parameters<typeof api>[1];

async function call<T = Member>(path: string, options: Call): Promise<{ status: number; body: T }> {
  const response = await api(path, options);
  return { status: response.status, body: await response.json<T>() };
}

async function statusOf(path: string, options: Call): Promise<number> {
  return (await call(path, options)).status;
}

const address = () => `${crypto.randomUUID()}@acme.test`;

/** A member with a personal key, which can sign in. */
async function member(own: TestWorkspace, role: Role) {
  const { body } = await call(MEMBERS, { key: own.admin, json: { email: address(), role } });
  const { organization_id } = own;
  const key = await createApiKey(db, { kind: "personal", organization_id, user_id: body.id });
  return { ...body, key: key.api_key };
}

async function organizationKey({ organization_id }: TestWorkspace) {
  const input = { kind: "service", organization_id, workspace_id: null, role: "admin" } as const;
  return (await createApiKey(db, input)).api_key;
}

describe("members of a workspace", () => {
  test("are added by email, with a role, and listed", async () => {
    const { admin: key, organization_id, workspace_id } = await workspace();
    const email = address();
    const json = { email: email.toUpperCase(), role: "editor" };
    const { status, body } = await call(MEMBERS, { key, json });
    expect([status, body]).toEqual([
      200,
      {
        id: body.user_id,
        user_id: body.user_id,
        email,
        organization_id,
        tenant_id: workspace_id,
        access_scope: "workspace",
        created_at: expect.any(String),
        role: "editor",
        role_id: expect.any(String),
        role_name: "WORKSPACE_USER",
        org_role_id: expect.any(String),
        org_role_name: "ORGANIZATION_USER",
      },
    ]);
    for (const path of [MEMBERS, "/v1/workspaces/current/members"]) {
      const { body: listed } = await call<object>(path, { key });
      expect(listed).toEqual({ tenant_id: workspace_id, members: [], pending: [body] });
    }
    expect(await statusOf(MEMBERS, { key, json })).toBe(200);
    expect(await statusOf(MEMBERS, { key, json: { email, role: "admin" } })).toBe(409);
  });

  test("are added by the id of a user of the organization, and of no other", async () => {
    const [own, foreign] = await Promise.all([workspace(), workspace()]);
    const second = await createWorkspace(db, { organization_id: own.organization_id, name: "b" });
    const { id: user_id } = await member(own, "viewer");
    const key = await organizationKey(own);
    const json = { user_id, role: "editor" };
    const { body } = await call(MEMBERS, { key, tenant: second.id, json });
    expect(body).toMatchObject({ user_id, tenant_id: second.id, role: "editor" });
    expect(await statusOf(MEMBERS, { key: foreign.admin, json })).toBe(404);
    expect(await statusOf(MEMBERS, { key: own.admin, json: { role: "editor" } })).toBe(422);
  });

  test("are added in a batch, all or none", async () => {
    const own = await workspace();
    const key = own.admin;
    const json = ["viewer", "editor"].map((role) => ({ email: address(), role }));
    const { status, body } = await call<Member[]>(`${MEMBERS}/batch`, { key, json });
    expect([status, body.map(({ role }) => role).sort()]).toEqual([200, ["editor", "viewer"]]);
    const fresh = address();
    const clash = [
      { email: fresh, role: "viewer" },
      { email: json[0]?.email, role: "admin" },
    ];
    expect(await statusOf(`${MEMBERS}/batch`, { key, json: clash })).toBe(409);
    const { body: listed } = await call<object>(MEMBERS, { key });
    expect(JSON.stringify(listed)).not.toContain(fresh);
    for (const wrong of [[], [{ email: "no address", role: "viewer" }], [{ email: fresh }]]) {
      expect(await statusOf(`${MEMBERS}/batch`, { key, json: wrong })).toBe(422);
    }
  });

  test("change their role, with effect on the next request of the isolate", async () => {
    const own = await workspace();
    const { id, key } = await member(own, "viewer");
    expect(await statusOf("/v1/audit-logs", { key })).toBe(403);
    const change = { key: own.admin, method: "PATCH", json: { role: "admin" } };
    expect((await call(`${MEMBERS}/${id}`, change)).body.role).toBe("admin");
    expect(await statusOf("/v1/audit-logs", { key })).toBe(200);
  });

  test("lose the workspace when they are removed, and their keys for good", async () => {
    const own = await workspace();
    const { id, email, key } = await member(own, "editor");
    expect(await statusOf("/v2/deployments", { key })).toBe(200);
    const { status } = await call(`${MEMBERS}/${id}`, { key: own.admin, method: "DELETE" });
    expect([status, await statusOf("/v2/deployments", { key })]).toEqual([200, 401]);
    expect(await statusOf(`${MEMBERS}/${id}`, { key: own.admin, method: "DELETE" })).toBe(404);
    await call(MEMBERS, { key: own.admin, json: { email, role: "editor" } });
    expect(await statusOf("/v2/deployments", { key })).toBe(401);
  });

  test("are removed once by admins who remove them at once: the others get a 404", async () => {
    const own = await workspace();
    const { id: member_id } = await member(own, "admin");
    const { id: user_id } = await member(own, "admin");
    const key = await organizationKey(own);
    for (const path of [`${MEMBERS}/${member_id}`, `${USERS}/${user_id}`]) {
      const remove = () => statusOf(path, { key, tenant: own.workspace_id, method: "DELETE" });
      const statuses = await Promise.all([remove(), remove(), remove()]);
      expect(statuses.toSorted()).toEqual([200, 404, 404]);
    }
  });

  test("keep their keys in the other workspaces when they are removed from one", async () => {
    const own = await workspace();
    const second = await createWorkspace(db, { organization_id: own.organization_id, name: "b" });
    const { id: user_id, key } = await member(own, "editor");
    const tenant = second.id;
    await call(MEMBERS, {
      key: await organizationKey(own),
      tenant,
      json: { user_id, role: "viewer" },
    });
    await call(`${MEMBERS}/${user_id}`, { key: own.admin, method: "DELETE" });
    expect(await statusOf("/v2/deployments", { key, tenant })).toBe(200);
    expect(await statusOf("/v2/deployments", { key, tenant: own.workspace_id })).toBe(403);
  });

  test("cannot lose the last admin", async () => {
    const own = await workspace();
    const { id, key } = await member(own, "admin");
    const { body: keys } = await call<Member[]>("/api/v1/api-key", { key });
    for (const { id: key_id, role } of keys) {
      if (role === "admin") {
        expect(await statusOf(`/api/v1/api-key/${key_id}`, { key, method: "DELETE" })).toBe(200);
      }
    }
    const demote = { key, method: "PATCH", json: { role: "viewer" } };
    expect(await statusOf(`${MEMBERS}/${id}`, demote)).toBe(409);
    expect(await statusOf(`${MEMBERS}/${id}`, { key, method: "DELETE" })).toBe(409);
    await call("/api/v1/api-key", { key, json: { role: "admin" } });
    expect(await statusOf(`${MEMBERS}/${id}`, demote)).toBe(200);
    expect(await statusOf(`${MEMBERS}/${id}`, demote)).toBe(403);
  });
});

describe("a caller who may not manage members", () => {
  test.each(["viewer", "editor"] as const)("a %s raises no role, its own neither", async (role) => {
    const own = await workspace();
    const { id, key } = await member(own, role);
    const json = { role: "admin" };
    for (const attacker of [key, own[role]]) {
      const as = { key: attacker };
      expect(await statusOf(`${MEMBERS}/${id}`, { ...as, method: "PATCH", json })).toBe(403);
      expect(await statusOf(`${USERS}/${id}`, { ...as, method: "PATCH", json })).toBe(403);
      expect(await statusOf(`${MEMBERS}/${id}`, { ...as, method: "DELETE" })).toBe(403);
      expect(await statusOf(MEMBERS, { ...as, json: { ...json, email: address() } })).toBe(403);
      const batch = [{ ...json, email: address() }];
      expect(await statusOf(`${MEMBERS}/batch`, { ...as, json: batch })).toBe(403);
      expect(await statusOf(MEMBERS, as)).toBe(403);
    }
  });

  test("an admin of another workspace reaches no member", async () => {
    const [own, foreign] = await Promise.all([workspace(), workspace()]);
    const { organization_id } = own;
    const sibling = await createWorkspace(db, { organization_id, name: "sibling" });
    const scope = { kind: "service", organization_id, workspace_id: sibling.id } as const;
    const neighbour = await createApiKey(db, { ...scope, role: "admin" });
    const { id, key: victim } = await member(own, "editor");
    for (const key of [foreign.admin, neighbour.api_key]) {
      const json = { role: "viewer" };
      expect(await statusOf(`${MEMBERS}/${id}`, { key, method: "PATCH", json })).toBe(404);
      expect(await statusOf(`${MEMBERS}/${id}`, { key, method: "DELETE" })).toBe(404);
      const { body } = await call<object>(MEMBERS, { key });
      expect(JSON.stringify(body)).not.toContain(id);
      expect(await statusOf(MEMBERS, { key, tenant: own.workspace_id })).toBe(403);
    }
    expect(await statusOf("/v2/deployments", { key: victim })).toBe(200);
  });

  test("an admin of one workspace changes nothing of the organization", async () => {
    const own = await workspace();
    const { id, key } = await member(own, "admin");
    for (const attacker of [key, own.admin]) {
      const json = { role: "admin" };
      expect(await statusOf(USERS, { key: attacker })).toBe(403);
      expect(await statusOf(`${USERS}/${id}`, { key: attacker, method: "PATCH", json })).toBe(403);
      expect(await statusOf(`${USERS}/${id}`, { key: attacker, method: "DELETE" })).toBe(403);
    }
  });
});

describe("members of the organization", () => {
  test("become admins of it, which makes them admins of every workspace", async () => {
    const own = await workspace();
    const second = await createWorkspace(db, { organization_id: own.organization_id, name: "b" });
    const { id, key } = await member(own, "viewer");
    const as = { key: await organizationKey(own), tenant: own.workspace_id };
    const json = { role: "admin" };
    const { body } = await call(`${USERS}/${id}`, { ...as, method: "PATCH", json });
    expect(body).toMatchObject({ role: "admin", tenant_ids: [own.workspace_id] });
    expect(await statusOf(MEMBERS, { key, tenant: second.id })).toBe(200);
    expect(await statusOf(USERS, { key, tenant: second.id })).toBe(200);
    await call(`${USERS}/${id}`, { ...as, method: "PATCH", json: { role: "user" } });
    expect(await statusOf(MEMBERS, { key, tenant: second.id })).toBe(403);
  });

  test("lose their keys for good when their role was all that they had", async () => {
    const own = await workspace();
    const { id, key } = await member(own, "viewer");
    const as = { key: await organizationKey(own), tenant: own.workspace_id };
    const become = (role: string) =>
      call(`${USERS}/${id}`, { ...as, method: "PATCH", json: { role } });
    await become("admin");
    await call(`${MEMBERS}/${id}`, { ...as, method: "DELETE" });
    expect(await statusOf("/v2/deployments", { key, tenant: own.workspace_id })).toBe(200);
    await become("user");
    await call(MEMBERS, { ...as, json: { user_id: id, role: "viewer" } });
    expect(await statusOf("/v2/deployments", { key, tenant: own.workspace_id })).toBe(401);
  });

  test("are removed with their keys, and are new users when added again", async () => {
    const own = await workspace();
    const { id, email, key } = await member(own, "editor");
    const as = { key: await organizationKey(own), tenant: own.workspace_id };
    expect(await statusOf(`${USERS}/${id}`, { ...as, method: "DELETE" })).toBe(200);
    expect(await statusOf("/v2/deployments", { key })).toBe(401);
    expect(await statusOf(`${USERS}/${id}`, { ...as, method: "DELETE" })).toBe(404);
    const { body } = await call(MEMBERS, { key: own.admin, json: { email, role: "viewer" } });
    expect(body.id).not.toBe(id);
    expect(await statusOf("/v2/deployments", { key })).toBe(401);
  });

  test("cannot lose the last admin", async () => {
    const own = await workspace();
    const { id, key } = await member(own, "viewer");
    await env.DB.prepare("UPDATE users SET organization_role = 'admin' WHERE id = ?")
      .bind(id)
      .run();
    const as = { key, tenant: own.workspace_id };
    const demote = { ...as, method: "PATCH", json: { role: "user" } };
    expect(await statusOf(`${USERS}/${id}`, demote)).toBe(409);
    expect(await statusOf(`${USERS}/${id}`, { ...as, method: "DELETE" })).toBe(409);
    await organizationKey(own);
    expect(await statusOf(`${USERS}/${id}`, { ...as, method: "DELETE" })).toBe(200);
  });

  test("of another organization are unknown", async () => {
    const [own, foreign] = await Promise.all([workspace(), workspace()]);
    const { id, key: victim } = await member(foreign, "editor");
    const as = { key: await organizationKey(own), tenant: own.workspace_id };
    const json = { role: "admin" };
    expect(await statusOf(`${USERS}/${id}`, { ...as, method: "PATCH", json })).toBe(404);
    expect(await statusOf(`${USERS}/${id}`, { ...as, method: "DELETE" })).toBe(404);
    expect(await statusOf("/v2/deployments", { key: victim })).toBe(200);
  });
});
