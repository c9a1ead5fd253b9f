import { env } from "cloudflare:workers";
import { afterEach, describe, expect, test, vi } from "vitest";
import { resolveCaller } from "../../../src/control-plane/workspaces/auth.ts";
import { findUser } from "../../../src/control-plane/workspaces/credentials.ts";
import {
  assertPrincipalActive,
  findIdentity,
} from "../../../src/control-plane/workspaces/service.ts";
import { type Caller, database } from "../../../src/shared/context.ts";
import {
  createApiKey,
  createUser,
  createWorkspace,
  revokeApiKey,
  setMembership,
} from "../../support/organizations.ts";
import { workspace } from "../../support/workspace.ts";

const db = database(env);
afterEach(() => {
  vi.useRealTimers();
});

function caller(api_key: string, tenant?: string): Promise<Caller> {
  return resolveCaller(
    env,
    new Headers({ "X-Api-Key": api_key, ...(tenant && { "X-Tenant-Id": tenant }) }),
  );
}

async function serviceKey(expires_at?: string) {
  const { organization_id, workspace_id } = await workspace();
  const input = { kind: "service", organization_id, workspace_id, role: "editor" } as const;
  const key = await createApiKey(db, { ...input, ...(expires_at && { expires_at }) });
  return { organization_id, workspace_id, ...key };
}

async function member(role: Caller["role"], organization_role: "admin" | "user" = "user") {
  const { organization_id, workspace_id } = await workspace();
  const email = `${crypto.randomUUID()}@acme.test`;
  const user = await createUser(db, { organization_id, email, organization_role });
  if (organization_role === "user") {
    await setMembership(db, { user_id: user.id, workspace_id, role });
  }
  const key = await createApiKey(db, { kind: "personal", organization_id, user_id: user.id });
  return { organization_id, workspace_id, email, user_id: user.id, ...key };
}

function inMs(ms: number): string {
  return new Date(Date.now() + ms).toISOString();
}

describe("an expired key", () => {
  test("is refused, and creates no principal", async () => {
    const { api_key, id, workspace_id } = await serviceKey(inMs(-1));
    await expect(caller(api_key)).rejects.toMatchObject({ code: "unauthenticated" });
    expect(await findIdentity(db, workspace_id, { key_id: id })).toBeNull();
  });

  test("is refused at its time though the isolate has it cached", async () => {
    vi.useFakeTimers({ toFake: ["Date"] });
    const { api_key } = await serviceKey(inMs(700));
    expect((await caller(api_key)).role).toBe("editor");
    vi.setSystemTime(Date.now() + 701);
    await expect(caller(api_key)).rejects.toMatchObject({ code: "unauthenticated" });
  });
});

describe("the principal of an earlier request", () => {
  test("may act while its key is valid", async () => {
    const { api_key } = await serviceKey(inMs(60_000));
    await expect(assertPrincipalActive(db, await caller(api_key))).resolves.toBeUndefined();
  });

  test("may not act once its key is revoked", async () => {
    const { api_key, id, organization_id } = await serviceKey();
    const principal = await caller(api_key);
    await revokeApiKey(db, { organization_id, api_key_id: id });
    const refusal = { code: "unauthenticated" };
    await expect(assertPrincipalActive(db, principal)).rejects.toMatchObject(refusal);
  });

  test("may not act once its key is expired", async () => {
    const { id, ...ids } = await serviceKey(inMs(-1));
    const actor = { type: "api_key", key_id: id, user_id: null } as const;
    const principal = { ...ids, role: "editor", plan: "plus", actor } as const;
    const refusal = { code: "unauthenticated" };
    await expect(assertPrincipalActive(db, principal)).rejects.toMatchObject(refusal);
  });

  test.each(["key", "user"] as const)(
    "may not act as %s once the member is removed",
    async (by) => {
      const { api_key, user_id } = await member("editor");
      const keyed = await caller(api_key);
      const principal =
        by === "key" ? keyed : { ...keyed, actor: { type: "user", user_id } as const };
      await expect(assertPrincipalActive(db, principal)).resolves.toBeUndefined();
      await env.DB.prepare("DELETE FROM memberships WHERE user_id = ?").bind(user_id).run();
      await expect(assertPrincipalActive(db, principal)).rejects.toMatchObject({
        code: "forbidden",
      });
    },
  );

  test("keeps acting after a promotion and not after a demotion", async () => {
    const { api_key, user_id, workspace_id } = await member("editor");
    const principal = await caller(api_key);
    await setMembership(db, { user_id, workspace_id, role: "admin" });
    await expect(assertPrincipalActive(db, principal)).resolves.toBeUndefined();
    await setMembership(db, { user_id, workspace_id, role: "viewer" });
    const refusal = { code: "unauthenticated", message: expect.stringContaining("now viewer") };
    await expect(assertPrincipalActive(db, principal)).rejects.toMatchObject(refusal);
  });
});

describe("an admin of the organization", () => {
  test("is admin of each workspace without a membership, and of no other organization's", async () => {
    const { api_key, organization_id, workspace_id } = await member("viewer", "admin");
    const second = await createWorkspace(db, { organization_id, name: "second" });
    for (const tenant of [workspace_id, second.id]) {
      expect(await caller(api_key, tenant)).toMatchObject({ workspace_id: tenant, role: "admin" });
    }
    const { workspace_id: foreign } = await workspace();
    await expect(caller(api_key, foreign)).rejects.toMatchObject({ code: "forbidden" });
  });
});

describe("a secret before its rotation", () => {
  test("is valid until the overlap ends", async () => {
    const { api_key, id } = await serviceKey();
    const rotate = async (previous_expires_at: string) => {
      await env.DB.prepare(
        "UPDATE api_keys SET previous_sha256 = coalesce(previous_sha256, sha256), previous_expires_at = ?1, sha256 = id WHERE id = ?2",
      )
        .bind(previous_expires_at, id)
        .run();
    };
    vi.useFakeTimers({ toFake: ["Date"] });
    await rotate(inMs(600));
    expect((await caller(api_key)).actor).toMatchObject({ key_id: id });
    vi.setSystemTime(Date.now() + 601);
    await expect(caller(api_key)).rejects.toMatchObject({ code: "unauthenticated" });
  });
});

describe("the first token of a user", () => {
  test("binds its subject: another person with the email is unknown", async () => {
    const { email, user_id } = await member("editor");
    const first = await findUser(db, { subject: `ada-${user_id}`, email }, null);
    expect(first?.actor).toEqual({ type: "user", user_id });
    expect(await findUser(db, { subject: `eve-${user_id}`, email }, null)).toBeNull();
    const renamed = await findUser(db, { subject: `ada-${user_id}`, email: "new@acme.test" }, null);
    expect(renamed?.actor).toEqual({ type: "user", user_id });
  });
});
