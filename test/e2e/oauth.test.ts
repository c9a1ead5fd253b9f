import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createWorkspace } from "../../local/workspace.ts";
import { runWrangler } from "../../local/wrangler.ts";
import { browse, type Oidc, startOidc, visit } from "../support/node/oidc.ts";
import { startVendor, type Vendor } from "../support/node/vendor.ts";
import { uniqueName } from "./support/deployments.ts";
import { type Answer, request } from "./support/http.ts";
import { killWorker, stack, until } from "./support/stack.ts";
import { deployTestAgent } from "./support/test-agent.ts";

type Key = { key: string; tenant_id: string };
type Authentication = {
  status: string;
  url: string;
  auth_id: string;
  token: string | null;
  metadata: { token_id: string; scopes: string[]; expires_at: string };
};
type Token = { id: string; provider_account_label: string; scopes: string[]; expires_at: string };

const REVOCATION = "/token/revocation";

let oidc: Oidc;
let bare: Oidc;
let ada: Key;
let eve: Key;
let stranger: Key;

const redirectTo = (provider_id: string) => `${stack.base_url}/v2/auth/callback/${provider_id}`;
const IDS = Array.from({ length: 40 }, (_one, index) => `idp-${index}`);
let taken = 0;

beforeAll(async () => {
  const redirect_uris = IDS.map(redirectTo);
  [oidc, bare] = await Promise.all([
    startOidc({ redirect_uris }),
    startOidc({ redirect_uris, revokes: false }),
  ]);
  const org = uniqueName("oauth");
  const make = async (name: string) => {
    const input = { org, plan: "plus", name, role: "admin" } as const;
    const made = await createWorkspace(input, (args) => runWrangler(stack.dir, args));
    return { key: made.api_key, tenant_id: made.tenant_id };
  };
  ada = await make("research");
  eve = await make("research");
  stranger = await make("sales");
});

afterAll(async () => {
  await Promise.all([oidc.close(), bare.close()]);
});

function call<T = unknown>(
  who: Key,
  method: string,
  path: string,
  body?: unknown,
): Promise<Answer<T>> {
  const headers = { "x-api-key": who.key, "x-tenant-id": who.tenant_id };
  return request<T>(method, path, body, headers);
}

/** A provider of ada's workspace; each has a redirect address that the server knows. */
async function provider(server: Oidc, fields: Record<string, unknown> = {}): Promise<string> {
  const provider_id = IDS[taken++] ?? "";
  const { issuer, client_id, client_secret } = server;
  const { status, body } = await call(ada, "POST", "/v2/auth/providers", {
    provider_id,
    name: "Identity",
    client_id,
    client_secret,
    auth_url: `${issuer}/auth`,
    token_url: `${issuer}/token`,
    token_endpoint_auth_method: "client_secret_basic",
    uses_pkce: true,
    ...fields,
  });
  expect([status, body]).toEqual([200, expect.objectContaining({ provider_id })]);
  return provider_id;
}

async function authenticate(who: Key, provider_id: string, fields: Record<string, unknown> = {}) {
  const json = { provider: provider_id, scopes: ["openid", "repo"], ...fields };
  const { status, body } = await call<Authentication>(who, "POST", "/v2/auth/authenticate", json);
  expect([status, body]).toEqual([200, expect.anything()]);
  return body;
}

/** Consents in the browser as the named person; the token that ada then has. */
async function connected(provider_id: string, person = "ada") {
  const { url } = await authenticate(ada, provider_id);
  const page = await browse(`${url}&login_hint=${person}`);
  expect([page.status, page.text]).toEqual([200, expect.stringContaining("connected")]);
  const { token, metadata } = await authenticate(ada, provider_id);
  return { token: token ?? "", id: metadata.token_id };
}

function remove(id: string, who = ada) {
  return call(who, "DELETE", `/v2/auth/tokens/${id}`);
}

async function tokens(provider_id: string, who = ada): Promise<Token[]> {
  return (await call<Token[]>(who, "GET", `/v2/auth/tokens?provider_id=${provider_id}`)).body;
}

/** The first access token of a person named short ends in a moment. */
async function endOfFirst(provider_id: string): Promise<string> {
  const [{ expires_at } = { expires_at: "" }] = await tokens(provider_id);
  await until(
    "The end of the first access token",
    async () => Date.now(),
    (now) => now > Date.parse(expires_at),
  );
  return expires_at;
}

async function userinfo(token: string): Promise<unknown> {
  const headers = { authorization: `Bearer ${token}` };
  const response = await fetch(`${oidc.issuer}/me`, { headers });
  return response.ok ? response.json() : response.status;
}

test("a person consents in a browser, wait resolves, and the token opens the provider", async () => {
  const id = await provider(oidc);
  const answer = await authenticate(ada, id);
  expect(answer).toMatchObject({ status: "pending", token: null });
  const waiting = call<{ status: string; token: string }>(
    ada,
    "GET",
    `/v2/auth/wait/${answer.auth_id}?timeout=30`,
  );
  const page = await browse(answer.url);
  expect(page.status).toBe(200);
  expect(page.text).toContain("Identity is connected");
  const { status, body } = await waiting;
  expect([status, body]).toEqual([
    200,
    { status: "completed", token: expect.any(String), error: null },
  ]);
  expect(await userinfo(body.token)).toEqual({ sub: "ada" });
  const again = await authenticate(ada, id);
  expect(again).toMatchObject({ status: "completed", token: body.token });
  const [token, ...others] = await tokens(id);
  expect(others).toEqual([]);
  expect(token).toMatchObject({ id: again.metadata.token_id, provider_account_label: "ada" });
  expect(token?.scopes).toEqual(["openid", "repo"]);
  expect((await browse(page.url)).status).toBe(400);
  expect(oidc.log.filter((line) => line.startsWith("no "))).toEqual([]);
});

test("a denied consent reaches the person and the waiting call", async () => {
  const id = await provider(oidc);
  const { url, auth_id } = await authenticate(ada, id, { scopes: ["openid", "refuse"] });
  const page = await browse(url);
  expect(page.status).toBe(400);
  expect(page.text).toContain("access_denied: The person said no");
  const { body } = await call(ada, "GET", `/v2/auth/wait/${auth_id}`);
  expect(body).toMatchObject({ status: "failed", error: "access_denied: The person said no" });
});

test("a person with another user's link sees the name and cancels: nothing is connected", async () => {
  const id = await provider(oidc);
  const { url, auth_id } = await authenticate(eve, id);
  const answer = await visit(`${url}&login_hint=ada`);
  expect([answer.status, answer.text]).toEqual([200, expect.stringContaining("the API key lsv2_")]);
  const before = oidc.log.length;
  expect((await browse(answer.url, "cancel")).text).toContain("Identity was not connected");
  expect(oidc.log.slice(before)).toEqual([]);
  const { body } = await call(eve, "GET", `/v2/auth/wait/${auth_id}`);
  expect(body).toMatchObject({ status: "failed", token: null });
  expect(await tokens(id, eve)).toEqual([]);
});

test("concurrent calls after a token has expired cause one refresh", async () => {
  const id = await provider(oidc);
  const { token, id: token_id } = await connected(id, "short");
  const expires_at = await endOfFirst(id);
  const before = oidc.log.length;
  const answers = await Promise.all(
    Array.from({ length: 8 }, (_one, index) =>
      authenticate(ada, id, { agent_id: `agent-${index}` }),
    ),
  );
  const given = new Set(answers.map(({ token }) => token));
  expect(given.size).toBe(1);
  const [fresh] = given;
  expect(fresh).not.toBe(token);
  expect(await userinfo(fresh ?? "")).toEqual({ sub: "short" });
  const refreshes = oidc.log.slice(before).filter((line) => line.endsWith("refresh_token"));
  expect(refreshes).toEqual(["refresh_token"]);
  const [row] = await tokens(id);
  expect(row?.id).toBe(token_id);
  expect(Date.parse(row?.expires_at ?? "")).toBeGreaterThan(Date.parse(expires_at));
});

describe("agents", () => {
  let agent: string;
  beforeAll(async () => {
    agent = await deployTestAgent({ "x-api-key": ada.key, "x-tenant-id": ada.tenant_id });
  });

  const run = (path: string, json: object) =>
    call<Record<string, unknown>>(ada, "POST", `/agents/${agent}${path}`, json);

  test("of one person, used at once after expiry, cause one refresh", async () => {
    const id = await provider(oidc);
    await connected(id, "short");
    await endOfFirst(id);
    const before = oidc.log.length;
    const body = { provider: id, scopes: ["repo"] };
    const json = { assistant_id: "signs_in", input: { body } };
    const ended = await Promise.all([run("/runs/wait", json), run("/runs/wait", json)]);
    const given = ended.map(({ body }) => String(body.token));
    expect(new Set(given).size).toBe(1);
    expect(await userinfo(given[0] ?? "")).toEqual({ sub: "short" });
    const refreshes = oidc.log.slice(before).filter((line) => line.endsWith("refresh_token"));
    expect(refreshes).toEqual(["refresh_token"]);
  });

  test("interrupt with the address to consent at, and go on with the token", async () => {
    const id = await provider(oidc);
    const { body: thread } = await run("/threads", {});
    const path = `/threads/${thread.thread_id}`;
    const input = { body: { provider: id, scopes: ["openid", "repo"] } };
    await run(`${path}/runs/wait`, { assistant_id: "signs_in", input });
    const state = await call<Record<string, unknown>>(ada, "GET", `/agents/${agent}${path}`);
    expect(state.body.status).toBe("interrupted");
    const auth_url = /"auth_url":"([^"]+)"/.exec(JSON.stringify(state.body))?.[1] ?? "";
    expect((await browse(auth_url)).text).toContain("Identity is connected");
    const resumed = { assistant_id: "signs_in", command: { resume: "consented" } };
    const { body } = await run(`${path}/runs/wait`, resumed);
    expect(await userinfo(String(body.token))).toEqual({ sub: "ada" });
  });
});

describe("the deletion of a token", () => {
  test("by a stranger is a 404, an admin of the same workspace is one too", async () => {
    const id = await provider(oidc);
    const token = await connected(id);
    for (const who of [eve, stranger]) {
      expect((await remove(token.id, who)).status).toBe(404);
      expect((await call<Token[]>(who, "GET", "/v2/auth/tokens")).body).toEqual([]);
    }
    expect((await authenticate(eve, id)).status).toBe("pending");
    expect(await userinfo(token.token)).toEqual({ sub: "ada" });
  });

  test("revokes at the provider first: the row is kept until the provider has answered", async () => {
    const id = await provider(oidc);
    const token = await connected(id);
    const held = oidc.hold(REVOCATION);
    const deleting = remove(token.id);
    await held.arrived;
    expect(oidc.log.at(-1)).toBe("refresh token destroyed");
    expect(await tokens(id)).toHaveLength(1);
    held.release();
    const { status, body, headers } = await deleting;
    expect([status, body, headers.get("x-token-revocation")]).toEqual([204, "", "revoked"]);
    expect(await tokens(id)).toEqual([]);
    expect(await oidc.find(token.token)).toBeUndefined();
    expect(await userinfo(token.token)).toBe(401);
    expect((await remove(token.id)).status).toBe(404);
  });

  test.each([
    ["that is gone", { drops: true }, /^\d+$/],
    ["that is busy", { status: 503, retry_after: 7 }, /^7$/],
  ])("at a provider %s keeps it: 503 with Retry-After", async (_case, fault, retry_after) => {
    const id = await provider(oidc, { revocation_url: `${oidc.issuer}${REVOCATION}` });
    const token = await connected(id);
    oidc.fail({ path: REVOCATION, ...fault });
    const refused = await remove(token.id);
    expect(refused.status).toBe(503);
    expect(refused.headers.get("retry-after")).toMatch(retry_after);
    expect(await userinfo(token.token)).toEqual({ sub: "ada" });
    expect((await authenticate(ada, id)).token).toBe(token.token);
    expect((await remove(token.id)).status).toBe(204);
    expect(await userinfo(token.token)).toBe(401);
  });

  test("whose client the provider refuses keeps it: 409, until the secret is right", async () => {
    const id = await provider(oidc);
    const token = await connected(id);
    const path = `/v2/auth/providers/${id}`;
    await call(ada, "PATCH", path, { client_secret: "wrong" });
    const refused = await remove(token.id);
    expect([refused.status, refused.body]).toEqual([
      409,
      { detail: expect.stringContaining("invalid_client") },
    ]);
    expect(await tokens(id)).toHaveLength(1);
    await call(ada, "PATCH", path, { client_secret: oidc.client_secret });
    expect((await remove(token.id)).status).toBe(204);
  });

  test("that meets a refresh waits for it, and takes back what it brought", async () => {
    const id = await provider(oidc);
    const token = await connected(id, "short");
    await endOfFirst(id);
    const held = oidc.hold("/token");
    const refreshing = authenticate(ada, id);
    await held.arrived;
    const deleting = remove(token.id);
    held.release();
    const fresh = (await refreshing).token ?? "";
    expect((await deleting).status).toBe(204);
    expect(fresh).not.toBe(token.token);
    expect(await oidc.find(fresh)).toBeUndefined();
  });

  test("of which the provider knows nothing any more ends well", async () => {
    const id = await provider(oidc);
    const token = await connected(id);
    const authorization = `Basic ${btoa(`${oidc.client_id}:${oidc.client_secret}`)}`;
    await fetch(`${oidc.issuer}${REVOCATION}`, {
      method: "POST",
      headers: { authorization },
      body: new URLSearchParams({ token: token.token }),
    });
    expect(await userinfo(token.token)).toBe(401);
    const { status, headers } = await remove(token.id);
    expect([status, headers.get("x-token-revocation")]).toEqual([204, "revoked"]);
  });

  test("reports that a provider has no revocation", async () => {
    const id = await provider(bare);
    const token = await connected(id);
    const { status, headers } = await remove(token.id);
    expect([status, headers.get("x-token-revocation")]).toEqual([204, "unsupported"]);
    expect(await tokens(id)).toEqual([]);
    expect(await bare.find(token.token)).toBeDefined();
  });

  test("that dies after the revocation ends at the next request", async () => {
    const id = await provider(oidc);
    const token = await connected(id);
    const held = oidc.hold(REVOCATION);
    const dying = remove(token.id).catch(() => null);
    await held.arrived;
    await killWorker();
    held.release();
    expect((await dying)?.status).not.toBe(204);
    expect(await oidc.find(token.token)).toBeUndefined();
    const up = () => tokens(id).catch(() => null);
    expect(await until("The Worker's return", up, Array.isArray)).toHaveLength(1);
    expect((await remove(token.id)).status).toBe(204);
    expect(await tokens(id)).toEqual([]);
  });
});

test("a provider that is deleted while it grants a token gets it back", async () => {
  const id = await provider(oidc);
  const { url, auth_id } = await authenticate(ada, id);
  const held = oidc.hold("/token");
  const browsing = browse(url);
  await held.arrived;
  expect((await call(ada, "DELETE", `/v2/auth/providers/${id}`)).status).toBe(200);
  held.release();
  const page = await browsing;
  expect([page.status, page.text]).toEqual([400, expect.stringContaining("was deleted")]);
  expect(oidc.log.at(-1)).toMatch(/destroyed/);
  const { body } = await call(ada, "GET", `/v2/auth/wait/${auth_id}`);
  expect(body).toMatchObject({ status: "not_found" });
});

test("a provider is deleted with its tokens, each revoked first", async () => {
  const id = await provider(oidc);
  const token = await connected(id);
  const { status, body } = await call(ada, "DELETE", `/v2/auth/providers/${id}`);
  expect([status, body]).toEqual([200, expect.objectContaining({ revoked: 1, not_revoked: 0 })]);
  expect(await userinfo(token.token)).toBe(401);
  expect((await remove(token.id)).status).toBe(404);
});

test("an MCP server's provider is found, registered with, and gives tokens for that server alone", async () => {
  const provider_id = uniqueName("mcp");
  const json = { provider_id, name: "Tools", mcp_server_url: oidc.mcp_server_url };
  const found = await call(ada, "POST", "/v2/auth/providers/mcp-discover", json);
  expect([found.status, found.body]).toEqual([
    200,
    expect.objectContaining({
      provider_id,
      auth_url: `${oidc.issuer}/auth`,
      token_url: `${oidc.issuer}/token`,
      revocation_url: `${oidc.issuer}${REVOCATION}`,
      mcp_server_url: oidc.mcp_server_url,
      uses_pkce: true,
      is_dynamic_client: true,
    }),
  ]);
  expect(JSON.stringify(found.body)).not.toContain('client_secret":');
  const token = await connected(provider_id);
  expect(await oidc.find(token.token)).toMatchObject({
    accountId: "ada",
    aud: oidc.mcp_server_url,
  });
  const { status, headers } = await remove(token.id);
  expect([status, headers.get("x-token-revocation")]).toEqual([204, "revoked"]);
  expect(await oidc.find(token.token)).toBeUndefined();
  const { url } = await authenticate(ada, provider_id);
  const state = new URL(url).searchParams.get("state");
  const query = `code=c&state=${state}&iss=${encodeURIComponent("https://other.test")}`;
  const page = await browse(`${redirectTo(provider_id)}?${query}`);
  expect([page.status, page.text]).toEqual([400, expect.stringContaining("another provider")]);
});

describe("a provider with its own form", () => {
  let vendor: Vendor;
  beforeAll(async () => {
    vendor = await startVendor();
  });
  afterAll(() => vendor.close());

  test.each([
    [
      "github",
      "/login/oauth/access_token",
      {
        method: "DELETE",
        path: "/api/v3/applications/app/token",
        authorization: `Basic ${btoa("app:secret")}`,
        body: '{"access_token":"tok"}',
      },
    ],
    [
      "slack",
      "/api/oauth.v2.access",
      { method: "POST", path: "/api/auth.revoke", authorization: "Bearer tok", body: "" },
    ],
  ])("%s takes tokens back in its own way", async (provider_type, token_path, request) => {
    const id = await provider(oidc, {
      provider_type,
      client_id: "app",
      client_secret: "secret",
      auth_url: `${vendor.origin}/authorize`,
      token_url: `${vendor.origin}${token_path}`,
      token_endpoint_auth_method: "client_secret_post",
    });
    const token = await connected(id);
    expect(token.token).toBe("tok");
    const { status, headers } = await remove(token.id);
    expect([status, headers.get("x-token-revocation")]).toEqual([204, "revoked"]);
    expect(vendor.seen.at(-1)).toEqual(request);
  });
});
