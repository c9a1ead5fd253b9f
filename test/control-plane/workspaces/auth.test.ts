import { env } from "cloudflare:workers";
import { describe, expect, test } from "vitest";
import { authenticate } from "../../../src/control-plane/workspaces/auth.ts";
import { onError } from "../../../src/error-responses.ts";
import { assertMay } from "../../../src/shared/auth.ts";
import { type Caller, database } from "../../../src/shared/context.ts";
import { router } from "../../../src/shared/http/http.ts";
import {
  createApiKey,
  createUser,
  createWorkspace,
  revokeApiKey,
  setMembership,
} from "../../support/organizations.ts";
import { api, workspace } from "../../support/workspace.ts";

const db = database(env);
const app = router();
app.onError(onError);
app.get("/caller", authenticate, (c) => c.json(c.var.ctx.caller));
app.get("/agents/x/caller", authenticate, (c) => c.json(c.var.ctx.caller));

async function call(headers: Record<string, string>, path = "/caller") {
  const response = await app.request(path, { headers }, env);
  const text = await response.text();
  return { status: response.status, text, caller: () => JSON.parse(text) as Caller };
}

async function organizationKey(organization_id: string) {
  const input = { kind: "service", organization_id, workspace_id: null, role: "editor" } as const;
  return (await createApiKey(db, input)).api_key;
}

async function personalKey(organization_id: string) {
  const email = `${crypto.randomUUID()}@acme.test`;
  const { id: user_id } = await createUser(db, { organization_id, email });
  const { api_key } = await createApiKey(db, { kind: "personal", organization_id, user_id });
  return { user_id, api_key };
}

describe("a service key of one workspace", () => {
  test("acts in its workspace with its role, without a tenant", async () => {
    const { admin, editor, viewer, ...ids } = await workspace({ plan: "plus" });
    for (const [role, key] of Object.entries({ admin, editor, viewer })) {
      const { status, caller } = await call({ "X-Api-Key": key });
      expect(status).toBe(200);
      expect(caller()).toMatchObject({ ...ids, role, plan: "plus" });
      expect(caller().actor).toMatchObject({ type: "api_key", user_id: null });
    }
  });

  test.each(["x-api-key", "X-API-KEY", "X-Api-Key"])("is read from %s", async (name) => {
    const { admin } = await workspace();
    expect((await call({ [name]: admin })).status).toBe(200);
  });

  test.each(["Bearer", "bearer"])("is read from Authorization: %s", async (scheme) => {
    const { admin, workspace_id } = await workspace();
    const answer = await call({ Authorization: `${scheme} ${admin}` });
    expect(answer.caller()).toMatchObject({ workspace_id, role: "admin" });
  });

  test("accepts its own tenant, in either case of letters", async () => {
    const { admin, workspace_id } = await workspace();
    for (const tenant of [workspace_id, workspace_id.toUpperCase()]) {
      expect((await call({ "X-Api-Key": admin, "X-Tenant-Id": tenant })).status).toBe(200);
    }
  });

  test("is refused in another workspace, of its organization or of another", async () => {
    const own = await workspace();
    const other = await workspace();
    const { organization_id } = own;
    const sibling = await createWorkspace(db, { organization_id, name: "sibling" });
    for (const tenant of [sibling.id, other.workspace_id, crypto.randomUUID()]) {
      const { status, text } = await call({ "X-Api-Key": own.admin, "X-Tenant-Id": tenant });
      expect(status).toBe(403);
      expect(text).toContain(`no access to workspace ${tenant}`);
    }
  });
});

test("a user's token without a configured issuer is refused with the setting to make", async () => {
  const answer = await call({ Authorization: "Bearer eyJhbGciOiJub25lIn0.eyJzdWIiOiJhIn0.c2ln" });
  expect([answer.status, answer.text]).toEqual([401, expect.stringContaining("OIDC_ISSUER")]);
});

describe("an organization-wide key", () => {
  test("needs a tenant, even where there is one workspace", async () => {
    const { organization_id } = await workspace();
    const answer = await call({ "X-Api-Key": await organizationKey(organization_id) });
    expect(answer.status).toBe(403);
    expect(answer.text).toContain("requires workspace specification");
    expect(answer.text).not.toContain("org_scoped_key_requires_workspace");
  });

  test.each([
    ["GET", "/api/v1/bulk-exports"],
    ["GET", "/api/v1/sessions"],
    ["POST", "/api/v1/runs/batch"],
  ])(
    "without a tenant is refused with the code that clients of traces know: %s %s",
    async (method, path) => {
      const { organization_id } = await workspace();
      const key = await organizationKey(organization_id);
      const answer = await api(path, { key, method });
      expect([answer.status, await answer.json()]).toEqual([
        403,
        expect.objectContaining({ error: "org_scoped_key_requires_workspace" }),
      ]);
    },
  );

  test("acts in each workspace that the tenant names, and in none of another organization", async () => {
    const { organization_id, workspace_id } = await workspace();
    const second = await createWorkspace(db, { organization_id, name: "second" });
    const foreign = await workspace();
    const key = await organizationKey(organization_id);
    for (const tenant of [workspace_id, second.id]) {
      const answer = await call({ "X-Api-Key": key, "X-Tenant-Id": tenant });
      expect(answer.caller()).toMatchObject({ workspace_id: tenant, role: "editor" });
    }
    const answer = await call({ "X-Api-Key": key, "X-Tenant-Id": foreign.workspace_id });
    expect(answer.status).toBe(403);
  });
});

describe("a personal key", () => {
  test("acts as its user, with the user's role in each workspace", async () => {
    const { organization_id, workspace_id } = await workspace();
    const second = await createWorkspace(db, { organization_id, name: "second" });
    const { user_id, api_key } = await personalKey(organization_id);
    await setMembership(db, { user_id, workspace_id, role: "viewer" });
    const alone = await call({ "X-Api-Key": api_key });
    expect(alone.caller()).toMatchObject({ workspace_id, role: "viewer", actor: { user_id } });
    await setMembership(db, { user_id, workspace_id: second.id, role: "admin" });
    const there = await call({ "X-Api-Key": api_key, "X-Tenant-Id": second.id });
    expect(there.caller()).toMatchObject({ workspace_id: second.id, role: "admin" });
  });

  test("needs a tenant when its user belongs to several workspaces", async () => {
    const { organization_id, workspace_id } = await workspace();
    const second = await createWorkspace(db, { organization_id, name: "second" });
    const { user_id, api_key } = await personalKey(organization_id);
    await setMembership(db, { user_id, workspace_id, role: "viewer" });
    await setMembership(db, { user_id, workspace_id: second.id, role: "admin" });
    const answer = await call({ "X-Api-Key": api_key });
    expect(answer.status).toBe(403);
    expect(answer.text).toContain("requires workspace specification");
  });

  test("reaches no workspace that its user is not a member of", async () => {
    const { organization_id, workspace_id } = await workspace();
    const { api_key } = await personalKey(organization_id);
    const named = await call({ "X-Api-Key": api_key, "X-Tenant-Id": workspace_id });
    expect(named.status).toBe(403);
    const unnamed = await call({ "X-Api-Key": api_key });
    expect(unnamed.status).toBe(403);
    expect(unnamed.text).toContain("is not a member of any workspace");
  });
});

describe("a caller without a valid key", () => {
  test.each<[string, Record<string, string>]>([
    ["no header", {}],
    ["an unknown key", { "X-Api-Key": `lsv2_sk_${"a".repeat(40)}` }],
    ["an empty key", { "X-Api-Key": "" }],
    ["another scheme", { Authorization: "Basic YTpi" }],
    ["a JWT where no issuer is named", { Authorization: "Bearer a.b.c" }],
  ])("answers 401: %s", async (_, headers) => {
    const answer = await call(headers);
    expect(answer.status).toBe(401);
    expect(JSON.parse(answer.text)).toEqual({ detail: expect.any(String) });
  });

  test("answers in plain text on the agent server", async () => {
    const answer = await call({}, "/agents/x/caller");
    expect(answer.status).toBe(401);
    expect(answer.text).toMatch(/^API key required: /);
  });

  test("is not remembered: a key works at once after it was refused", async () => {
    const { organization_id, workspace_id } = await workspace();
    const { user_id, api_key } = await personalKey(organization_id);
    const headers = { "X-Api-Key": api_key, "X-Tenant-Id": workspace_id };
    expect((await call(headers)).status).toBe(403);
    await setMembership(db, { user_id, workspace_id, role: "admin" });
    expect((await call(headers)).status).toBe(200);
  });

  test("a revoked key is refused", async () => {
    const { organization_id, workspace_id } = await workspace();
    const input = { kind: "service", organization_id, workspace_id, role: "admin" } as const;
    const { id, api_key } = await createApiKey(db, input);
    await revokeApiKey(db, { organization_id, api_key_id: id });
    expect((await call({ "X-Api-Key": api_key })).status).toBe(401);
  });

  test("one organization cannot revoke another's key", async () => {
    const { organization_id, workspace_id } = await workspace();
    const other = await workspace();
    const input = { kind: "service", organization_id, workspace_id, role: "admin" } as const;
    const { id, api_key } = await createApiKey(db, input);
    await revokeApiKey(db, { organization_id: other.organization_id, api_key_id: id });
    expect((await call({ "X-Api-Key": api_key })).status).toBe(200);
  });
});

test("a tenant that is not a UUID is named as the wrong field", async () => {
  const { admin } = await workspace();
  const answer = await call({ "X-Api-Key": admin, "X-Tenant-Id": "research" });
  expect(answer.status).toBe(422);
  expect(JSON.parse(answer.text)).toMatchObject({
    detail: [{ loc: ["header", "X-Tenant-Id"], msg: "must be the UUID of a workspace" }],
  });
});

test("keys have the known form and only their hash is stored", async () => {
  const { organization_id, admin } = await workspace();
  const { api_key } = await personalKey(organization_id);
  expect(admin).toMatch(/^lsv2_sk_[A-Za-z0-9]{40}$/);
  expect(api_key).toMatch(/^lsv2_pt_[A-Za-z0-9]{40}$/);
  const { results } = await env.DB.prepare("SELECT * FROM api_keys").all();
  expect(JSON.stringify(results)).not.toContain(admin);
  expect(JSON.stringify(results)).toContain(admin.slice(0, 12));
});

test.each([
  ["viewer", ["read"]],
  ["editor", ["read", "write"]],
  ["admin", ["read", "write", "delete", "admin"]],
] as const)("a %s may %j and nothing else", (role, allowed) => {
  const caller = { role } as Caller;
  for (const action of ["read", "write", "delete", "admin"] as const) {
    const attempt = () => assertMay({ caller }, action);
    if ((allowed as readonly string[]).includes(action)) expect(attempt).not.toThrow();
    else expect(attempt).toThrow(`The caller's role is ${role}`);
  }
});
