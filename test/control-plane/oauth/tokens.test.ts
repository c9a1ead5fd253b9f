import { evictDurableObject, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { eq, getTableColumns } from "drizzle-orm";
import { beforeAll, describe, expect, test } from "vitest";
import { saveToken } from "../../../src/control-plane/oauth/authorizations/new-token.ts";
import { tokenObject } from "../../../src/control-plane/oauth/storage/stub.ts";
import {
  oauth_authorizations,
  oauth_connections,
  oauth_providers,
  oauth_tokens,
} from "../../../src/control-plane/oauth/table.ts";
import { database } from "../../../src/shared/context.ts";
import { api, type TestWorkspace, workspace } from "../../support/workspace.ts";
import { authenticate, person, provider, tokenOf } from "./support.ts";

let ours: TestWorkspace;
let theirs: TestWorkspace;
let down: string;
let takesNothingBack: string;
beforeAll(async () => {
  [ours, theirs] = await Promise.all([workspace(), workspace()]);
  down = await provider(ours.editor);
  takesNothingBack = await provider(ours.editor, { provider_type: "microsoft" });
});

const PATH = "/v2/auth/tokens";
const HOUR = 3_600_000;

async function ada() {
  const { user_id, key } = await person(ours, "viewer");
  return { key, owner: `user:${user_id}` };
}

function remove(token_id: string, key: string) {
  return api(`${PATH}/${token_id}`, { key, method: "DELETE" });
}

async function ids(key: string, query = ""): Promise<string[]> {
  const list = await (await api(`${PATH}${query}`, { key })).json<{ id: string }[]>();
  return list.map(({ id }) => id);
}

function namespace() {
  return env.TOKENS as DurableObjectNamespace;
}

function isEmpty(token_id: string): Promise<boolean> {
  const object = namespace().getByName(token_id);
  return runInDurableObject(object, (_object, { storage }) => [...storage.kv.list()].length === 0);
}

test.each([
  ["GET", PATH],
  ["DELETE", `${PATH}?provider_id=p`],
  ["GET", `${PATH}/exists?provider_id=p`],
  ["GET", `${PATH}/workspace/slack/exists`],
  ["DELETE", `${PATH}/workspace/slack`],
  ["PATCH", `${PATH}/019aa2a4-0000-7000-8000-000000000000/metadata`],
  ["DELETE", `${PATH}/019aa2a4-0000-7000-8000-000000000000`],
  ["GET", "/v2/auth/agents/a/connections"],
  ["POST", "/v2/auth/agents/a/connections"],
  ["DELETE", "/v2/auth/agents/a/connections/019aa2a4-0000-7000-8000-000000000000"],
])("%s %s needs a key", async (method, path) => {
  expect((await api(path, { method })).status).toBe(401);
});

test("a token is listed for its owner alone, and neither of its secrets is in any answer or row", async () => {
  const { key, owner } = await ada();
  const id = await tokenOf(ours, owner, down, { provider_account_label: "ada@acme.test" });
  const list = await api(PATH, { key });
  expect(await list.json()).toEqual([
    {
      id,
      provider_id: down,
      provider_account_label: "ada@acme.test",
      scopes: ["repo"],
      expires_at: null,
      is_default: true,
      created_at: expect.any(String),
      updated_at: expect.any(String),
    },
  ]);
  for (const other of [ours.admin, ours.viewer, theirs.admin]) expect(await ids(other)).toEqual([]);
  expect(await ids(key, `?provider_id=${down}&limit=1`)).toEqual([id]);
  expect(await ids(key, "?offset=1")).toEqual([]);
  const kept = await runInDurableObject(namespace().getByName(id), (_object, state) =>
    JSON.stringify([...state.storage.kv.list()]),
  );
  expect(kept).toContain("ciphertext");
  expect(kept).not.toMatch(/access-|refresh-/);
});

test("the status of a token covers the caller's own", async () => {
  const { key, owner } = await ada();
  const exists = async (key: string) =>
    (await api(`${PATH}/exists?provider_id=${down}`, { key })).json();
  expect(await exists(key)).toEqual({ has_token: false });
  await tokenOf(ours, owner, down);
  expect(await exists(key)).toEqual({ has_token: true });
  expect(await exists(ours.admin)).toEqual({ has_token: false });
  expect((await api(`${PATH}/exists`, { key })).status).toBe(422);
});

describe("the deletion of a token", () => {
  test("by anybody but its owner is a 404, and it stays", async () => {
    const { key, owner } = await ada();
    const eve = await person(ours, "admin");
    const id = await tokenOf(ours, owner, takesNothingBack);
    for (const stranger of [eve.key, ours.admin, ours.editor, theirs.admin]) {
      const response = await remove(id, stranger);
      expect([response.status, await response.json()]).toEqual([
        404,
        { detail: `OAuth token ID ${id} not found.` },
      ]);
    }
    expect(await ids(key)).toEqual([id]);
  });

  test("of an id that is not a UUID is an HTTPValidationError", async () => {
    const response = await remove("abc", ours.viewer);
    expect([response.status, await response.json()]).toEqual([
      422,
      {
        detail: [{ loc: ["path", "token_id"], msg: expect.any(String), type: expect.any(String) }],
      },
    ]);
  });

  test("at a provider without revocation is a 204 with a header", async () => {
    const { key, owner } = await ada();
    const id = await tokenOf(ours, owner, takesNothingBack);
    const response = await remove(id, key);
    expect([response.status, await response.text()]).toEqual([204, ""]);
    expect(response.headers.get("X-Token-Revocation")).toBe("unsupported");
    expect(await ids(key)).toEqual([]);
    expect((await remove(id, key)).status).toBe(404);
    expect(await isEmpty(id)).toBe(true);
  });

  test("at a provider that is down is a 503 with Retry-After, and it stays", async () => {
    const { key, owner } = await ada();
    const id = await tokenOf(ours, owner, down);
    const response = await remove(id, key);
    expect(response.status).toBe(503);
    expect(Number(response.headers.get("Retry-After"))).toBeGreaterThan(0);
    expect(await ids(key)).toEqual([id]);
    const all = await api(`${PATH}?provider_id=${down}`, { key, method: "DELETE" });
    expect(all.status).toBe(503);
    expect(await ids(key)).toEqual([id]);
    expect(await authenticate(key, { provider: down })).toMatchObject({
      status: "completed",
      token: `access-${id}`,
    });
  });

  test("that died after the revocation ends at the next request", async () => {
    const { key, owner } = await ada();
    const id = await tokenOf(ours, owner, down);
    await tokenObject(env, id).delete();
    const response = await remove(id, key);
    expect([response.status, response.headers.get("X-Token-Revocation")]).toEqual([204, "revoked"]);
    expect(await ids(key)).toEqual([]);
  });

  test("of all of a provider leaves those of others and of other providers", async () => {
    const [one, two] = [await ada(), await ada()];
    await tokenOf(ours, one.owner, takesNothingBack, { agent_id: "a" });
    await tokenOf(ours, one.owner, takesNothingBack, { subject: "customer" });
    const left = await tokenOf(ours, one.owner, down);
    const foreign = await tokenOf(ours, two.owner, takesNothingBack);
    const path = `${PATH}?provider_id=${takesNothingBack}`;
    const response = await api(path, { key: one.key, method: "DELETE" });
    expect([response.status, await response.json()]).toEqual([
      200,
      {
        message: expect.any(String),
        provider_id: takesNothingBack,
        revoked: 0,
        not_revoked: 2,
      },
    ]);
    expect(await ids(one.key)).toEqual([left]);
    expect(await ids(two.key)).toEqual([foreign]);
    expect((await api(PATH, { key: one.key, method: "DELETE" })).status).toBe(422);
  });
});

describe("authenticate", () => {
  test("gives the token of the caller, of the user it names and of the agent it is for", async () => {
    const { key, owner } = await ada();
    const own = await tokenOf(ours, owner, down);
    const customers = await tokenOf(ours, owner, down, { subject: "customer" });
    const agents = await tokenOf(ours, owner, down, { agent_id: "a", is_default: false });
    const token = async (fields: object, by = key) =>
      (await authenticate(by, { provider: down, ...fields })).token;
    expect(await token({})).toBe(`access-${own}`);
    expect(await token({ user_id: "customer" })).toBe(`access-${customers}`);
    expect(await token({ agent_id: "a" })).toBe(`access-${agents}`);
    expect(await token({ agent_id: "b" })).toBe(`access-${own}`);
    expect(await token({ user_id: "nobody" })).toBeNull();
    expect(await token({ scopes: ["more"] })).toBeNull();
    expect(await token({ force_new: true })).toBeNull();
    expect(await token({}, ours.admin)).toBeNull();
    expect(await token({ user_id: owner.slice("user:".length) }, ours.admin)).toBeNull();
  });

  test("refuses another token for a user with a thousand of the provider, and renews those", async () => {
    const { key, owner } = await ada();
    const token_id = await tokenOf(ours, owner, down, { subject: "customer" });
    const names = Object.keys(getTableColumns(oauth_tokens));
    const copied = names.map((name) => (name === "id" ? "id || n" : name));
    await env.DB.prepare(
      `WITH RECURSIVE numbers(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < 999)
       INSERT INTO oauth_tokens (${names}) SELECT ${copied} FROM oauth_tokens, numbers WHERE id = ?`,
    )
      .bind(token_id)
      .run();
    const input = { provider: down, scopes: ["more"], user_id: "customer" };
    const refused = await api("/v2/auth/authenticate", { key, json: input });
    expect([refused.status, await refused.text()]).toEqual([
      409,
      expect.stringContaining("limit of 1000 OAuth tokens"),
    ]);
    const { status } = await authenticate(key, { ...input, token_id, force_new: true });
    expect(status).toBe("pending");
    expect((await authenticate(key, { ...input, user_id: "another" })).status).toBe("pending");
  });

  test("is audited when it begins a consent, not for a stored token", async () => {
    const { key, owner } = await ada();
    const token_id = await tokenOf(ours, owner, down);
    const input = { provider: down, token_id };
    const logged = async () => {
      const answer = await api("/v1/audit-logs?action=authenticateOAuth&limit=1", {
        key: ours.admin,
      });
      return JSON.stringify(await answer.json());
    };
    const before = await logged();
    expect(await authenticate(key, input)).toMatchObject({ status: "completed" });
    expect(await logged()).toBe(before);
    const { auth_id } = await authenticate(key, { ...input, force_new: true });
    expect(await logged()).toContain(auth_id);
  });

  test("answers 404 for the id of another user's token", async () => {
    const { owner } = await ada();
    const token_id = await tokenOf(ours, owner, down);
    const json = { provider: down, scopes: [], token_id };
    expect((await api("/v2/auth/authenticate", { key: ours.admin, json })).status).toBe(404);
  });

  test("of a token of another agent requires a connection first", async () => {
    const { key, owner } = await ada();
    const token_id = await tokenOf(ours, owner, down, { agent_id: "a" });
    const input = { provider: down, agent_id: "b", token_id };
    expect(await authenticate(key, input)).toMatchObject({
      status: "connection_required",
      token: null,
    });
    const json = { oauth_token_id: token_id };
    await api("/v2/auth/agents/b/connections", { key, json });
    expect(await authenticate(key, input)).toMatchObject({ status: "completed" });
  });

  test("of an expired token requires a new consent, and reports the old one as expired", async () => {
    const { key, owner } = await ada();
    const past = new Date(Date.now() - HOUR).toISOString();
    const grant = { expires_at: past, refresh_at: past, refresh_token: null };
    const token_id = await tokenOf(ours, owner, down, { grant });
    const again = await authenticate(key, { provider: down });
    expect(again).toMatchObject({ status: "pending", token: null, url: expect.any(String) });
    const named = await authenticate(key, { provider: down, token_id });
    expect(named).toMatchObject({ status: "token_expired", url: expect.any(String) });
  });

  test("of an expired token keeps its label and whether it is the default, unless requested", async () => {
    const { key, owner } = await ada();
    const past = new Date(Date.now() - HOUR).toISOString();
    const expired = { expires_at: past, refresh_at: past, refresh_token: null };
    const other = await tokenOf(ours, owner, down);
    const label = { provider_account_label: "work" };
    const token_id = await tokenOf(ours, owner, down, {
      grant: expired,
      is_default: false,
      ...label,
    });
    const renew = async (fields: { is_default?: boolean }) => {
      const { auth_id } = await authenticate(key, { provider: down, token_id, ...fields });
      const isIts = eq(oauth_authorizations.id, auth_id);
      const row = await database(env).select().from(oauth_authorizations).where(isIts).get();
      if (!row) throw new Error("The authorization is not stored");
      const tokens = { access_token: "a", refresh_token: null, token_type: "Bearer" };
      const times = { expires_at: past, refresh_at: past };
      const grant = { ...tokens, ...times, scopes: null, account_label: "ada@acme.test" };
      expect(await saveToken(database(env), row, grant)).toBe(true);
      const list = await (await api(PATH, { key })).json<{ id: string }[]>();
      return list.sort((a, b) => a.id.localeCompare(b.id));
    };
    expect(await renew({})).toMatchObject([
      { id: other, is_default: true },
      { id: token_id, is_default: false, ...label },
    ]);
    expect(await renew({ is_default: true })).toMatchObject([
      { id: other, is_default: false },
      { id: token_id, is_default: true, ...label },
    ]);
  });

  test("of a provider that is down gives the token while it lives, then a 503 with Retry-After", async () => {
    const { key, owner } = await ada();
    const [past, soon] = [-HOUR, HOUR].map((ms) => new Date(Date.now() + ms).toISOString());
    const living = await tokenOf(ours, owner, down, {
      agent_id: "living",
      grant: { expires_at: soon ?? null, refresh_at: past ?? null },
    });
    await tokenOf(ours, owner, down, {
      agent_id: "dead",
      grant: { expires_at: past ?? null, refresh_at: past ?? null },
    });
    const answer = await authenticate(key, { provider: down, agent_id: "living" });
    expect(answer.token).toBe(`access-${living}`);
    const json = { provider: down, scopes: [], agent_id: "dead" };
    const response = await api("/v2/auth/authenticate", { key, json });
    expect(response.status).toBe(503);
    expect(Number(response.headers.get("Retry-After"))).toBeGreaterThan(0);
  });
});

test("a token survives the eviction of its object", async () => {
  const { key, owner } = await ada();
  const id = await tokenOf(ours, owner, down);
  await evictDurableObject(namespace().getByName(id));
  expect((await authenticate(key, { provider: down })).token).toBe(`access-${id}`);
});

test("a token sealed for one object does not open in another", async () => {
  const { key, owner } = await ada();
  const [one, two] = [await tokenOf(ours, owner, down), await tokenOf(ours, owner, down)];
  const kept = await runInDurableObject(namespace().getByName(one), (_object, state) =>
    state.storage.kv.get("grant"),
  );
  await runInDurableObject(namespace().getByName(two), (_object, state) =>
    state.storage.kv.put("grant", kept),
  );
  const json = { provider: down, scopes: [], token_id: two };
  expect((await api("/v2/auth/authenticate", { key, json })).status).toBe(500);
});

test("metadata is the owner's to change; of the tokens of one provider one is the default", async () => {
  const { key, owner } = await ada();
  const [first, second] = [await tokenOf(ours, owner, down), await tokenOf(ours, owner, down)];
  const patch = (id: string, json: unknown, by = key) =>
    api(`${PATH}/${id}/metadata`, { key: by, method: "PATCH", json });
  const json = { provider_account_label: "work", is_default: true };
  expect((await patch(first, json, ours.admin)).status).toBe(404);
  const changed = await patch(first, json);
  expect([changed.status, await changed.json()]).toEqual([
    200,
    expect.objectContaining({ id: first, ...json }),
  ]);
  const list = await (await api(PATH, { key })).json<{ id: string; is_default: boolean }[]>();
  expect(list.map(({ id, is_default }) => [id, is_default])).toEqual([
    [first, true],
    [second, false],
  ]);
});

test("only a token's owner creates, lists and deletes its connections, which are deleted with the token", async () => {
  const { key, owner } = await ada();
  const oauth_token_id = await tokenOf(ours, owner, takesNothingBack);
  const path = "/v2/auth/agents/agent-1/connections";
  const connect = (by: string) => api(path, { key: by, json: { oauth_token_id } });
  for (const stranger of [ours.admin, theirs.admin]) {
    expect((await connect(stranger)).status).toBe(404);
  }
  const made = await connect(key);
  const connection = await made.json<{ id: string }>();
  expect([made.status, connection]).toEqual([
    201,
    {
      id: expect.any(String),
      agent_id: "agent-1",
      oauth_token_id,
      provider_id: takesNothingBack,
      provider_account_label: null,
      scopes: ["repo"],
      expires_at: null,
      created_by: owner,
      created_at: expect.any(String),
    },
  ]);
  expect((await connect(key)).status).toBe(409);
  const list = async (by: string) => (await api(path, { key: by })).json();
  expect(await list(key)).toEqual({ data: [connection] });
  expect(await list(ours.admin)).toEqual({ data: [] });
  const drop = (by: string) => api(`${path}/${connection.id}`, { key: by, method: "DELETE" });
  expect((await drop(ours.admin)).status).toBe(404);
  expect((await drop(key)).status).toBe(204);
  expect((await drop(key)).status).toBe(404);
  await connect(key);
  expect((await remove(oauth_token_id, key)).status).toBe(204);
  expect(await list(key)).toEqual({ data: [] });
  const rows = database(env)
    .select()
    .from(oauth_connections)
    .where(eq(oauth_connections.oauth_token_id, oauth_token_id));
  expect(await rows).toEqual([]);
});

test("deletes each token that can be revoked, although the first cannot", async () => {
  const { key, owner } = await ada();
  const first = await tokenOf(ours, owner, down);
  const second = await tokenOf(ours, owner, down);
  await tokenObject(env, second).delete();
  const response = await api(`${PATH}?provider_id=${down}`, { key, method: "DELETE" });
  expect(response.status).toBe(503);
  expect(await ids(key)).toEqual([first]);
});

describe("the deletion of a provider", () => {
  test("deletes its tokens, and counts those that were not revoked", async () => {
    const { key, owner } = await ada();
    const id = await provider(ours.editor, { provider_type: "microsoft" });
    const token_id = await tokenOf(ours, owner, id);
    await authenticate(key, { provider: id, force_new: true });
    await api("/v2/auth/agents/a/connections", { key, json: { oauth_token_id: token_id } });
    const response = await api(`/v2/auth/providers/${id}`, { key: ours.admin, method: "DELETE" });
    expect([response.status, await response.json()]).toEqual([
      200,
      expect.objectContaining({ provider_id: id, revoked: 0, not_revoked: 1 }),
    ]);
    expect(await ids(key)).toEqual([]);
  });

  test("waits for a provider that is down", async () => {
    const { key, owner } = await ada();
    const id = await provider(ours.editor);
    const token_id = await tokenOf(ours, owner, id);
    const path = `/v2/auth/providers/${id}`;
    const response = await api(path, { key: ours.admin, method: "DELETE" });
    expect(response.status).toBe(503);
    expect(await ids(key)).toEqual([token_id]);
    expect((await api(path, { key: ours.admin })).status).toBe(200);
  });

  test("revokes a grant that a crashed exchange left without a token", async () => {
    const { key, owner } = await ada();
    const id = await provider(ours.editor);
    const { auth_id } = await authenticate(key, { provider: id });
    const token_id = await tokenOf(ours, owner, id);
    const db = database(env);
    await db
      .update(oauth_authorizations)
      .set({ status: "exchanging", token_id })
      .where(eq(oauth_authorizations.id, auth_id));
    await db.delete(oauth_tokens).where(eq(oauth_tokens.id, token_id));
    const path = `/v2/auth/providers/${id}`;
    const drop = () => api(path, { key: ours.admin, method: "DELETE" });
    expect((await drop()).status).toBe(503);
    expect((await api(path, { key: ours.admin })).status).toBe(200);
    await db
      .update(oauth_providers)
      .set({ provider_type: "microsoft" })
      .where(eq(oauth_providers.provider_id, id));
    const response = await drop();
    expect([response.status, await response.json()]).toEqual([
      200,
      expect.objectContaining({ revoked: 0, not_revoked: 0 }),
    ]);
    expect(await isEmpty(token_id)).toBe(true);
  });
});

test("a provider with tokens does not move to another host", async () => {
  const { owner } = await ada();
  const id = await provider(ours.editor);
  await tokenOf(ours, owner, id);
  const patch = (json: unknown) =>
    api(`/v2/auth/providers/${id}`, { key: ours.editor, method: "PATCH", json });
  const moved = { token_url: "http://127.0.0.1:10/token", client_secret: "another" };
  expect((await patch(moved)).status).toBe(409);
  expect((await patch({ token_url: "http://127.0.0.1:9/other" })).status).toBe(200);
});

test("only admins delete the Slack tokens of a workspace", async () => {
  const { owner } = await ada();
  const slack = await provider(ours.editor, { provider_type: "slack" });
  const exists = async (key: string) =>
    (await api(`${PATH}/workspace/slack/exists`, { key })).json();
  expect(await exists(ours.viewer)).toEqual({ has_token: false });
  const id = await tokenOf(ours, owner, slack);
  expect(await exists(ours.viewer)).toEqual({ has_token: true });
  expect(await exists(theirs.viewer)).toEqual({ has_token: false });
  const drop = (key: string) => api(`${PATH}/workspace/slack`, { key, method: "DELETE" });
  expect((await drop(ours.editor)).status).toBe(403);
  expect((await drop(theirs.admin)).status).toBe(200);
  expect((await drop(ours.admin)).status).toBe(503);
  await tokenObject(env, id).delete();
  const response = await drop(ours.admin);
  expect([response.status, await response.json()]).toEqual([
    200,
    { message: expect.any(String), revoked: 1, not_revoked: 0 },
  ]);
});
