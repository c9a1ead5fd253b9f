import { env } from "cloudflare:workers";
import { afterEach, describe, expect, test, vi } from "vitest";
import { database, type Role } from "../../../src/shared/context.ts";
import {
  createApiKey,
  createUser,
  createWorkspace,
  setMembership,
} from "../../support/organizations.ts";
import { api, type TestWorkspace, workspace } from "../../support/workspace.ts";

const db = database(env);
const KEYS = "/api/v1/api-key";
const PERSONAL = "/api/v1/api-key/current";
const SERVICE = "/api/v1/orgs/current/service-keys";

afterEach(() => {
  vi.restoreAllMocks();
  vi.useRealTimers();
});

type Answer = Record<string, unknown> & { id: string; key: string };
type Call = Parameters<typeof api>[1];

async function call<T = Answer>(path: string, options: Call): Promise<{ status: number; body: T }> {
  const response = await api(path, options);
  return { status: response.status, body: await response.json<T>() };
}

async function statusOf(path: string, options: Call): Promise<number> {
  const response = await api(path, options);
  await response.text();
  return response.status;
}

/** Tests the permission of a key by a read without side effects. */
const works = async (key: string, tenant?: string) =>
  (await statusOf("/v2/deployments", { key, ...(tenant && { tenant }) })) === 200;

async function personalKey(own: TestWorkspace, role: Role, organization_role?: "admin") {
  const { organization_id, workspace_id } = own;
  const email = `${crypto.randomUUID()}@acme.test`;
  const user = { organization_id, email, ...(organization_role && { organization_role }) };
  const { id: user_id } = await createUser(db, user);
  await setMembership(db, { user_id, workspace_id, role });
  const key = await createApiKey(db, { kind: "personal", organization_id, user_id });
  return { user_id, ...key };
}

async function organizationKey({ organization_id }: TestWorkspace, role: Role) {
  const input = { kind: "service", organization_id, workspace_id: null, role } as const;
  return createApiKey(db, input);
}

function inMs(ms: number): string {
  return new Date(Date.now() + ms).toISOString();
}

describe("keys of a workspace", () => {
  test("are created with a name, a role and an expiry, and work at once", async () => {
    const own = await workspace();
    const expires_at = inMs(3_600_000);
    const json = { description: "CI", role: "editor", expires_at };
    const { status, body } = await call(KEYS, { key: own.admin, json });
    expect([status, body]).toEqual([
      200,
      {
        id: expect.any(String),
        key: expect.stringMatching(/^lsv2_sk_[A-Za-z0-9]{40}$/),
        short_key: `${body.key.slice(0, 12)}...`,
        description: "CI",
        access_scope: "workspace",
        workspace_id: own.workspace_id,
        role: "editor",
        role_id: expect.any(String),
        read_only: false,
        created_by: expect.any(String),
        created_at: expect.any(String),
        expires_at,
        last_used_at: null,
      },
    ]);
    expect(await works(body.key)).toBe(true);
    expect(await statusOf(KEYS, { key: body.key })).toBe(403);
  });

  test("are listed without a secret, with the last use", async () => {
    const own = await workspace();
    const { body } = await call(KEYS, { key: own.admin, json: { description: "listed" } });
    await works(body.key);
    for (const path of [KEYS, "/v1/api-key", "/api-key"]) {
      const { status, body: keys } = await call<Answer[]>(path, { key: own.admin });
      expect(status).toBe(200);
      expect(keys).toHaveLength(4);
      expect(keys.at(-1)).toMatchObject({ id: body.id, last_used_at: expect.any(String) });
      expect(JSON.stringify(keys)).not.toContain(body.key.slice(13));
      expect(Object.keys(keys[0] ?? {})).not.toContain("sha256");
    }
  });

  test("of a role id and of read_only are what LangSmith's clients mean", async () => {
    const { admin } = await workspace();
    const { body: roles } = await call<{ id: string; name: string }[]>(
      "/api/v1/orgs/current/roles",
      {
        key: admin,
      },
    );
    const reader = roles.find(({ name }) => name === "WORKSPACE_READER")?.id ?? "";
    const made = async (json: object) => (await call(KEYS, { key: admin, json })).body.role;
    expect(await made({ role_id: reader })).toBe("viewer");
    expect(await made({ read_only: true })).toBe("viewer");
    expect(await made({})).toBe("admin");
    const clash = await call(KEYS, { key: admin, json: { role: "admin", role_id: reader } });
    expect(clash.status).toBe(400);
    const unknown = { role_id: crypto.randomUUID() };
    expect(await statusOf(KEYS, { key: admin, json: unknown })).toBe(422);
  });

  test("are revoked with effect on the next request of the isolate", async () => {
    const { admin } = await workspace();
    const { body } = await call(KEYS, { key: admin, json: { role: "editor" } });
    expect(await works(body.key)).toBe(true);
    const path = `${KEYS}/${body.id}`;
    expect((await call(path, { key: admin, method: "DELETE" })).body.id).toBe(body.id);
    expect(await statusOf("/v2/deployments", { key: body.key })).toBe(401);
    expect(await statusOf(path, { key: admin, method: "DELETE" })).toBe(404);
    expect(await statusOf(`${path}/rotate`, { key: admin, method: "POST" })).toBe(404);
  });

  test("are rotated: the id stays, the old secret stops at once or after the overlap", async () => {
    const { admin } = await workspace();
    const { body: first } = await call(KEYS, { key: admin, json: { role: "viewer" } });
    const rotate = `${KEYS}/${first.id}/rotate`;
    const { body: second } = await call(rotate, { key: admin, method: "POST" });
    expect(second).toMatchObject({ id: first.id, role: "viewer" });
    const misspelled = `${rotate}?overlap_second=60`;
    expect(await statusOf(misspelled, { key: admin, method: "POST" })).toBe(422);
    expect([await works(first.key), await works(second.key)]).toEqual([false, true]);
    vi.useFakeTimers({ toFake: ["Date"] });
    const { body: third } = await call(`${rotate}?overlap_seconds=1`, {
      key: admin,
      method: "POST",
    });
    expect([await works(second.key), await works(third.key)]).toEqual([true, true]);
    vi.setSystemTime(Date.now() + 1001);
    expect([await works(second.key), await works(third.key)]).toEqual([false, true]);
    expect(await works(first.key)).toBe(false);
  });

  test("neither rotate nor create keys with the secret before a rotation", async () => {
    const { admin } = await workspace();
    const { body: first } = await call(KEYS, { key: admin, json: { role: "admin" } });
    const rotate = `${KEYS}/${first.id}/rotate`;
    const overlapping = `${rotate}?overlap_seconds=600`;
    const { body: second } = await call(overlapping, { key: admin, method: "POST" });
    expect(await works(first.key)).toBe(true);
    expect(await statusOf(rotate, { key: first.key, method: "POST" })).toBe(403);
    expect(await statusOf(KEYS, { key: first.key, json: { role: "admin" } })).toBe(422);
    expect(await statusOf(KEYS, { key: second.key, json: { role: "admin" } })).toBe(200);
    expect([await works(first.key), await works(second.key)]).toEqual([true, true]);
  });

  test("create and rotate no keys with a secret that another isolate has rotated", async () => {
    const { admin } = await workspace();
    const { body } = await call(KEYS, { key: admin, json: { role: "admin" } });
    expect(await works(body.key)).toBe(true);
    const rotated = env.DB.prepare("UPDATE api_keys SET sha256 = id WHERE id = ?").bind(body.id);
    await rotated.run();
    expect(await statusOf(KEYS, { key: body.key, json: { role: "admin" } })).toBe(401);
    const rotate = `${KEYS}/${body.id}/rotate`;
    expect(await statusOf(rotate, { key: body.key, method: "POST" })).toBe(401);
    expect(
      await statusOf("/api/v1/workspaces/current/members", {
        key: body.key,
        json: { email: "a@acme.test" },
      }),
    ).toBe(401);
  });

  test("cannot lose the last admin, until there is another", async () => {
    const own = await workspace();
    const { body: keys } = await call<Answer[]>(KEYS, { key: own.admin });
    const admin_id = keys.find(({ role }) => role === "admin")?.id ?? "";
    const revoke = () => call(`${KEYS}/${admin_id}`, { key: own.admin, method: "DELETE" });
    const refused = await revoke();
    expect([refused.status, refused.body]).toEqual([
      409,
      { detail: expect.stringContaining("last admin of the workspace") },
    ]);
    // Neither a member who never signed in nor an expired key can take over.
    const { organization_id, workspace_id } = own;
    const { id: user_id } = await createUser(db, { organization_id, email: "idle@acme.test" });
    await setMembership(db, { user_id, workspace_id, role: "admin" });
    const scope = { kind: "service", organization_id, workspace_id, role: "admin" } as const;
    await createApiKey(db, { ...scope, expires_at: inMs(-1) });
    expect((await revoke()).status).toBe(409);
    await createApiKey(db, { kind: "personal", organization_id, user_id });
    expect((await revoke()).status).toBe(200);
    expect(await works(own.admin)).toBe(false);
  });

  test("a key that two admins revoke at once is not found by the second one", async () => {
    const { admin } = await workspace();
    const { body } = await call(KEYS, { key: admin, json: { role: "editor" } });
    const revoke = () => statusOf(`${KEYS}/${body.id}`, { key: admin, method: "DELETE" });
    const statuses = await Promise.all([revoke(), revoke()]);
    expect(statuses.toSorted()).toEqual([200, 404]);
  });

  test("two admins who revoke each other at once do not both succeed", async () => {
    const { admin } = await workspace();
    const { body: other } = await call(KEYS, { key: admin, json: { role: "admin" } });
    const { body: keys } = await call<Answer[]>(KEYS, { key: admin });
    const own = keys.find(({ id, role }) => role === "admin" && id !== other.id)?.id ?? "";
    const answers = await Promise.all([
      statusOf(`${KEYS}/${other.id}`, { key: admin, method: "DELETE" }),
      statusOf(`${KEYS}/${own}`, { key: other.key, method: "DELETE" }),
    ]);
    expect(answers.filter((status) => status === 200)).toHaveLength(1);
  });
});

describe("a caller who may not manage keys", () => {
  async function attackers() {
    const [ours, theirs] = await Promise.all([workspace(), workspace()]);
    const { organization_id, workspace_id } = ours;
    const sibling = await createWorkspace(db, { organization_id, name: "sibling" });
    const scope = { kind: "service", organization_id, role: "admin" } as const;
    const expired = { ...scope, workspace_id, expires_at: inMs(-1) };
    const revoked = await createApiKey(db, { ...scope, workspace_id });
    await call(`${KEYS}/${revoked.id}`, { key: ours.admin, method: "DELETE" });
    const neighbour = await createApiKey(db, { ...scope, workspace_id: sibling.id });
    const keys: [string, string, number[]][] = [
      ["viewer", ours.viewer, [403]],
      ["editor", ours.editor, [403]],
      ["viewer's personal key", (await personalKey(ours, "viewer")).api_key, [403]],
      ["organization-wide editor", (await organizationKey(ours, "editor")).api_key, [403]],
      ["expired admin", (await createApiKey(db, expired)).api_key, [401]],
      ["revoked admin", revoked.api_key, [401]],
      ["admin of another organization", theirs.admin, [404]],
      ["admin of another workspace", neighbour.api_key, [404]],
    ];
    return { ours, keys };
  }

  test("reaches no key: not by listing, creating, rotating or revoking", async () => {
    const { ours, keys } = await attackers();
    const { body: target } = await call(KEYS, { key: ours.admin, json: { role: "editor" } });
    for (const [name, key, statuses] of keys) {
      const isForeign = statuses.includes(404);
      const tenant = isForeign ? {} : { tenant: ours.workspace_id };
      const one = `${KEYS}/${target.id}`;
      const answers = [
        await statusOf(one, { key, ...tenant, method: "DELETE" }),
        await statusOf(`${one}/rotate`, { key, ...tenant, method: "POST" }),
      ];
      expect([name, answers]).toEqual([name, [...statuses, ...statuses]]);
      const { body: listed } = await call<unknown>(KEYS, { key, ...tenant });
      expect([name, JSON.stringify(listed).includes(target.id)]).toEqual([name, false]);
      if (isForeign) continue;
      const json = { role: "admin" };
      expect([name, await statusOf(KEYS, { key, ...tenant, json })]).toEqual([name, ...statuses]);
    }
    expect(await works(target.key)).toBe(true);
  });

  test("is refused where X-Tenant-Id names a workspace that is not theirs", async () => {
    const { ours, keys } = await attackers();
    const tenant = ours.workspace_id;
    for (const [, key] of keys.slice(-2)) {
      expect(await statusOf(KEYS, { key, tenant })).toBe(403);
      expect(await statusOf(KEYS, { key, tenant, json: { role: "admin" } })).toBe(403);
    }
  });

  test("does not reach keys of the organization, as admin of one workspace", async () => {
    const own = await workspace();
    const wide = await organizationKey(own, "admin");
    const key = own.admin;
    const one = `${SERVICE}/${wide.id}`;
    expect(await statusOf(SERVICE, { key })).toBe(403);
    expect(await statusOf(SERVICE, { key, json: { role: "viewer" } })).toBe(403);
    expect(await statusOf(`${one}/rotate`, { key, method: "POST" })).toBe(403);
    expect(await statusOf(one, { key, method: "DELETE" })).toBe(403);
    expect(await statusOf(`${KEYS}/${wide.id}`, { key, method: "DELETE" })).toBe(404);
    expect(await statusOf(`${KEYS}/${wide.id}/rotate`, { key, method: "POST" })).toBe(404);
    expect(await works(wide.api_key, own.workspace_id)).toBe(true);
  });

  test("creates no key for a caller whose key is valid only in an isolate's cache", async () => {
    const own = await workspace();
    const { organization_id, workspace_id } = own;
    const scope = { kind: "service", organization_id, workspace_id, role: "admin" } as const;
    const gone = await createApiKey(db, scope);
    // An isolate reads what has changed once a second.
    vi.spyOn(Date, "now").mockReturnValue(Date.now());
    expect(await works(gone.api_key)).toBe(true);
    // Revokes it like another isolate: this one's cache is not cleared.
    await env.DB.prepare("UPDATE api_keys SET revoked_at = created_at WHERE id = ?")
      .bind(gone.id)
      .run();
    expect(await works(gone.api_key)).toBe(true);
    expect(await statusOf(KEYS, { key: gone.api_key, json: {} })).toBe(401);
  });
});

describe("personal keys", () => {
  test("are those of the calling user, and of no other", async () => {
    const own = await workspace();
    const [ada, eve] = await Promise.all([personalKey(own, "viewer"), personalKey(own, "admin")]);
    const json = { description: "laptop" };
    const { status, body } = await call(PERSONAL, { key: ada.api_key, json });
    expect([status, body]).toEqual([
      200,
      expect.objectContaining({
        key: expect.stringMatching(/^lsv2_pt_/),
        role: null,
        created_by: ada.id,
      }),
    ]);
    expect(await works(body.key)).toBe(true);
    expect(await statusOf("/v1/audit-logs", { key: body.key })).toBe(403);
    for (const key of [eve.api_key, own.admin]) {
      const one = `${PERSONAL}/${body.id}`;
      expect(await statusOf(one, { key, method: "DELETE" })).toBe(404);
      expect(await statusOf(`${one}/rotate`, { key, method: "POST" })).toBe(404);
      expect(await statusOf(`${KEYS}/${body.id}/rotate`, { key, method: "POST" })).toBe(404);
      const { body: listed } = await call<unknown>(PERSONAL, { key });
      expect(JSON.stringify(listed)).not.toContain(body.id);
    }
    const revoke = { key: ada.api_key, method: "DELETE" };
    expect(await statusOf(`${PERSONAL}/${body.id}`, revoke)).toBe(200);
    expect(await works(body.key)).toBe(false);
  });

  test("are not for service keys, and ignore a role", async () => {
    const own = await workspace();
    expect(await statusOf(PERSONAL, { key: own.admin, json: {} })).toBe(400);
    const { api_key } = await personalKey(own, "viewer");
    const { body } = await call(PERSONAL, { key: api_key, json: { role: "admin" } });
    expect(body.role).toBeNull();
    expect(await statusOf(KEYS, { key: body.key })).toBe(403);
  });
});

describe("an expiry", () => {
  test("is in the future", async () => {
    const { admin } = await workspace();
    const json = { expires_at: "2020-01-01T00:00:00Z" };
    const { status, body } = await call<object>(KEYS, { key: admin, json });
    expect([status, JSON.stringify(body)]).toEqual([422, expect.stringContaining("the future")]);
  });

  test("limits created keys: a key cannot create a key that expires later", async () => {
    const { admin } = await workspace();
    const json = { role: "admin", expires_at: inMs(60_000) };
    const { body: brief } = await call(KEYS, { key: admin, json });
    for (const expires_at of [null, inMs(120_000)]) {
      const { status } = await call(KEYS, { key: brief.key, json: { expires_at } });
      expect(status).toBe(422);
    }
    const shorter = { expires_at: inMs(30_000) };
    expect(await statusOf(KEYS, { key: brief.key, json: shorter })).toBe(200);
  });

  test("limits rotation: a key can rotate itself and keys that expire earlier", async () => {
    const { admin } = await workspace();
    const made = async (expires_at: string | null) =>
      (await call(KEYS, { key: admin, json: { role: "admin", expires_at } })).body;
    const [brief, endless] = [await made(inMs(60_000)), await made(null)];
    const [later, earlier] = [await made(inMs(120_000)), await made(inMs(30_000))];
    const rotate = (id: string, key: string) =>
      call<object>(`${KEYS}/${id}/rotate`, { key, method: "POST" });
    for (const { id, key } of [endless, later]) {
      const { status, body } = await rotate(id, brief.key);
      const text = "The calling key expires at";
      expect([status, JSON.stringify(body)]).toEqual([403, expect.stringContaining(text)]);
      expect(await works(key)).toBe(true);
    }
    expect((await rotate(earlier.id, brief.key)).status).toBe(200);
    expect((await rotate(endless.id, admin)).status).toBe(200);
    expect((await rotate(brief.id, brief.key)).status).toBe(200);
  });
});

describe("an admin of the organization", () => {
  test.each(["organization-wide key", "user"])("as %s manages all service keys", async (as) => {
    const own = await workspace();
    const key =
      as === "user"
        ? (await personalKey(own, "viewer", "admin")).api_key
        : (await organizationKey(own, "admin")).api_key;
    const tenant = own.workspace_id;
    const { body: wide } = await call(SERVICE, { key, tenant, json: { role: "editor" } });
    expect(wide).toMatchObject({ access_scope: "organization", workspace_id: null });
    expect(await works(wide.key, tenant)).toBe(true);
    const json = { role: "viewer", workspaces: [tenant] };
    const { body: bound } = await call(SERVICE, { key, tenant, json });
    expect(bound).toMatchObject({ access_scope: "workspace", workspace_id: tenant });
    const rotated = await call(`${SERVICE}/${wide.id}/rotate`, { key, tenant, method: "POST" });
    expect(await works(rotated.body.key, tenant)).toBe(true);
    const { body: listed } = await call<Answer[]>(SERVICE, { key, tenant });
    expect(listed.map(({ id }) => id)).toEqual(expect.arrayContaining([wide.id, bound.id]));
    for (const { id } of [wide, bound]) {
      expect(await statusOf(`${SERVICE}/${id}`, { key, tenant, method: "DELETE" })).toBe(200);
    }
    expect(await works(rotated.body.key, tenant)).toBe(false);
    expect(await works(bound.key)).toBe(false);
  });

  test("names only workspaces of the organization, and reaches no other's keys", async () => {
    const [own, foreign] = await Promise.all([workspace(), workspace()]);
    const { api_key: key } = await organizationKey(own, "admin");
    const tenant = own.workspace_id;
    const json = { role: "admin", workspaces: [foreign.workspace_id] };
    expect(await statusOf(SERVICE, { key, tenant, json })).toBe(422);
    const { body: theirs } = await call(KEYS, { key: foreign.admin, json: {} });
    const one = `${SERVICE}/${theirs.id}`;
    expect(await statusOf(one, { key, tenant, method: "DELETE" })).toBe(404);
    expect(await statusOf(`${one}/rotate`, { key, tenant, method: "POST" })).toBe(404);
    expect(await works(theirs.key)).toBe(true);
  });

  test("cannot revoke the last admin of the organization", async () => {
    const own = await workspace();
    const { id, api_key: key } = await organizationKey(own, "admin");
    const options = { key, tenant: own.workspace_id, method: "DELETE" };
    expect(await statusOf(`${SERVICE}/${id}`, options)).toBe(409);
    await organizationKey(own, "admin");
    expect(await statusOf(`${SERVICE}/${id}`, options)).toBe(200);
  });
});

test("changes of keys are audited without a secret", async () => {
  const { admin } = await workspace();
  const { body: made } = await call(KEYS, { key: admin, json: { description: "audited" } });
  const rotated = await call(`${KEYS}/${made.id}/rotate`, { key: admin, method: "POST" });
  await call(`${KEYS}/${made.id}`, { key: admin, method: "DELETE" });
  const { body: logs } = await call<{ resources: { action: string; resources: unknown[] }[] }>(
    "/v1/audit-logs",
    { key: admin },
  );
  const actions = logs.resources.map(({ action }) => action);
  expect(actions).toEqual(["revokeApiKey", "rotateApiKey", "createApiKey"]);
  for (const entry of logs.resources) {
    expect(JSON.stringify(entry.resources)).toContain(made.id);
    expect(JSON.stringify(entry)).not.toContain(rotated.body.key.slice(13));
  }
});
