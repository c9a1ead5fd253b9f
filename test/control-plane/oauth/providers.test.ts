import { env } from "cloudflare:workers";
import { and, eq, getTableColumns } from "drizzle-orm";
import { beforeAll, describe, expect, test } from "vitest";
import { callProvider } from "../../../src/control-plane/oauth/client/provider-client.ts";
import { ProviderCreateRequest } from "../../../src/control-plane/oauth/provider-schema.ts";
import { discoverProvider } from "../../../src/control-plane/oauth/providers/mcp-service.ts";
import { buildProviderUpdate } from "../../../src/control-plane/oauth/providers/provider-change.ts";
import { createProvider } from "../../../src/control-plane/oauth/providers/provider-service.ts";
import { oauth_authorizations, oauth_providers } from "../../../src/control-plane/oauth/table.ts";
import { contextFor, database } from "../../../src/shared/context.ts";
import { systemContext } from "../../support/deployment.ts";
import { api, type TestWorkspace, workspace } from "../../support/workspace.ts";
import { authenticate, DOWN, person, provider, providerBody, tokenOf } from "./support.ts";

let ours: TestWorkspace;
let theirs: TestWorkspace;
beforeAll(async () => {
  [ours, theirs] = await Promise.all([workspace(), workspace()]);
});

const PATH = "/v2/auth/providers";

function patch(id: string, json: unknown, key = ours.editor) {
  return api(`${PATH}/${id}`, { key, method: "PATCH", json });
}

test("a provider is created, read, listed and changed, and its secret is nowhere to be seen", async () => {
  const body = providerBody({ token_request_headers: { "X-Tenant": "header-not-to-be-seen" } });
  const created = await api(PATH, { key: ours.editor, json: body });
  expect(created.status).toBe(200);
  const shown = await created.json();
  expect(shown).toEqual({
    id: expect.any(String),
    organization_id: ours.organization_id,
    provider_id: body.provider_id,
    name: "Provider",
    client_id: "client",
    auth_url: `${DOWN}/auth`,
    token_url: `${DOWN}/token`,
    revocation_url: null,
    uses_pkce: true,
    code_challenge_method: "S256",
    provider_type: null,
    mcp_server_url: null,
    token_endpoint_auth_method: "client_secret_post",
    is_dynamic_client: false,
    created_at: expect.any(String),
    updated_at: expect.any(String),
  });
  const path = `${PATH}/${body.provider_id}`;
  expect(await (await api(path, { key: ours.viewer })).json()).toEqual(shown);
  expect(await (await api(`/api-host${path}`, { key: ours.viewer })).json()).toEqual(shown);
  const changed = await patch(body.provider_id, { name: "New", client_secret: "new-secret" });
  expect(changed.status).toBe(200);
  const text = await (await api(PATH, { key: ours.viewer })).text();
  expect(JSON.parse(text)).toContainEqual(await changed.json());
  const rows = JSON.stringify(await database(env).select().from(oauth_providers));
  for (const secret of ["secret-not-to-be-seen", "new-secret", "header-not-to-be-seen"]) {
    expect(text).not.toContain(secret);
    expect(rows).not.toContain(secret);
  }
});

test.each([
  ["GET", PATH],
  ["POST", PATH],
  ["POST", `${PATH}/mcp-discover`],
  ["GET", `${PATH}/p`],
  ["PATCH", `${PATH}/p`],
  ["DELETE", `${PATH}/p`],
])("%s %s needs a key", async (method, path) => {
  expect((await api(path, { method })).status).toBe(401);
});

test("a viewer reads providers and changes none, an editor deletes none", async () => {
  const id = await provider(ours.editor);
  const path = `${PATH}/${id}`;
  const create = await api(PATH, { key: ours.viewer, json: providerBody() });
  const discover = { provider_id: "mcp", name: "M", mcp_server_url: `${DOWN}/mcp` };
  const refused = [
    create,
    await api(`${PATH}/mcp-discover`, { key: ours.viewer, json: discover }),
    await patch(id, { name: "x" }, ours.viewer),
    await api(path, { key: ours.editor, method: "DELETE" }),
  ];
  expect(refused.map(({ status }) => status)).toEqual([403, 403, 403, 403]);
  expect((await api(path, { key: ours.viewer })).status).toBe(200);
});

test("a provider_id is unique in its workspace, and does not exist in another", async () => {
  const provider_id = await provider(ours.editor);
  const again = await api(PATH, { key: ours.editor, json: providerBody({ provider_id }) });
  expect(again.status).toBe(409);
  const path = `${PATH}/${provider_id}`;
  const foreign = [
    await api(path, { key: theirs.admin }),
    await patch(provider_id, { name: "x" }, theirs.admin),
    await api(path, { key: theirs.admin, method: "DELETE" }),
  ];
  expect(foreign.map(({ status }) => status)).toEqual([404, 404, 404]);
  expect(await (await api(PATH, { key: theirs.viewer })).text()).not.toContain(provider_id);
  await provider(theirs.editor, { provider_id });
  const deleted = await api(path, { key: theirs.admin, method: "DELETE" });
  expect([deleted.status, await deleted.json()]).toEqual([
    200,
    expect.objectContaining({ message: expect.any(String), revoked: 0, not_revoked: 0 }),
  ]);
  expect((await api(path, { key: theirs.viewer })).status).toBe(404);
  expect((await api(path, { key: ours.viewer })).status).toBe(200);
});

test.each([
  [{ provider_id: "a/b" }, "provider_id"],
  [{ provider_id: "" }, "provider_id"],
  [{ auth_url: "javascript:alert(1)" }, "auth_url"],
  [{ token_url: "ftp://host" }, "token_url"],
  [{ token_url: "https://user:password@host" }, "token_url"],
  [{ client_secret: "a\nb" }, "client_secret"],
  [{ provider_type: "other" }, "provider_type"],
  [{ code_challenge_method: "S512" }, "code_challenge_method"],
  [{ revocation_url: "https://evil.test/revoke" }, "revocation_url"],
  [{ token_request_headers: { Authorization: "x" } }, "token_request_headers"],
  [{ token_request_headers: { "a b": "x" } }, "token_request_headers"],
])("%j is refused", async (fields, field) => {
  const response = await api(PATH, { key: ours.editor, json: providerBody(fields) });
  expect(response.status).toBe(422);
  expect(await response.text()).toContain(field);
});

test.each([
  ["auth_url", "http://id.example.com/auth"],
  ["auth_url", "https://127.0.0.1/auth"],
  ["token_url", "https://169.254.169.254/token"],
  ["token_url", "https://id.internal/token"],
])("%s %s is refused where private addresses are", async (field, url) => {
  const cautious = { ...env, EGRESS_PRIVATE_OAUTH: "false" };
  const ctx = contextFor(cautious, systemContext(ours.workspace_id).caller);
  const open = {
    auth_url: "https://id.example.com/auth",
    token_url: "https://id.example.com/token",
  };
  const input = ProviderCreateRequest.parse(providerBody({ ...open, [field]: url }));
  await expect(createProvider(ctx, input)).rejects.toMatchObject({
    code: "invalid_request",
    issues: [expect.objectContaining({ loc: ["body", field] })],
  });
  const answer_ = await callProvider(cautious, { method: "GET", url });
  expect(answer_).toMatchObject({ ok: false, reason: "refused" });
  const server = { provider_id: "mcp", name: "M", mcp_server_url: url };
  await expect(discoverProvider(ctx, server, "https://h.test")).rejects.toMatchObject({
    code: "invalid_request",
  });
});

test("mcp-discover of a server that is down is a 503, of one that speaks nothing of OAuth a 422", async () => {
  const json = { provider_id: "mcp", name: "M", mcp_server_url: `${DOWN}/mcp` };
  const response = await api(`${PATH}/mcp-discover`, { key: ours.editor, json });
  expect(response.status).toBe(503);
  expect(Number(response.headers.get("Retry-After"))).toBeGreaterThan(0);
});

test("a change of other fields leaves the credentials that a concurrent one may have replaced", async () => {
  const id = await provider(ours.editor);
  const stored = async () => {
    const isIt = eq(oauth_providers.provider_id, id);
    const [row] = await database(env).select().from(oauth_providers).where(isIt);
    return row?.ciphertext;
  };
  const before = await stored();
  expect((await patch(id, { name: "New" })).status).toBe(200);
  expect(await stored()).toBe(before);
  const secrets = ["one", "two", "three"].map((client_secret) => patch(id, { client_secret }));
  const statuses = (await Promise.all(secrets)).map(({ status }) => status);
  expect(statuses).toContain(200);
  expect(statuses.filter((status) => status !== 200 && status !== 409)).toEqual([]);
});

test("a change of revocation_url is refused once the token_url that it was checked with has moved", async () => {
  const id = await provider(ours.editor);
  const isIt = eq(oauth_providers.provider_id, id);
  const [row] = await database(env).select().from(oauth_providers).where(isIt);
  if (row === undefined) throw new Error("The provider has no row.");
  const revocation_url = new URL("/revoke", row.token_url).href;
  const { isUnchanged } = await buildProviderUpdate(env, row, { revocation_url });
  const matching = () => database(env).select().from(oauth_providers).where(and(isIt, isUnchanged));
  expect(await matching()).toHaveLength(1);
  const moved = { token_url: "http://127.0.0.1:10/token", client_secret: "another" };
  expect((await patch(id, moved)).status).toBe(200);
  expect(await matching()).toEqual([]);
});

test("a refused change leaves pending consents", async () => {
  const id = await provider(ours.editor);
  const { auth_id } = await authenticate(ours.editor, { provider: id });
  await tokenOf(ours, "user:another", id);
  const moved = { token_url: "http://127.0.0.1:10/token", client_secret: "another" };
  expect((await patch(id, moved)).status).toBe(409);
  const open = await database(env)
    .select({ status: oauth_authorizations.status })
    .from(oauth_authorizations)
    .where(eq(oauth_authorizations.id, auth_id));
  expect(open).toEqual([{ status: "pending" }]);
});

describe("a provider whose token_url moves to another host", () => {
  const moved = { token_url: "http://127.0.0.1:10/token" };

  test("does not keep the secret of the former client", async () => {
    const id = await provider(ours.editor);
    const refused = await patch(id, moved);
    expect([refused.status, await refused.text()]).toEqual([
      422,
      expect.stringContaining("client_secret"),
    ]);
    expect((await patch(id, { ...moved, client_secret: "another" })).status).toBe(200);
  });

  test("waits for the exchange of a code, whose token may be deleted", async () => {
    const id = await provider(ours.editor, { provider_type: "microsoft" });
    const { key, user_id } = await person(ours, "viewer");
    const token_id = await tokenOf(ours, `user:${user_id}`, id);
    const { auth_id } = await authenticate(key, { provider: id, token_id, force_new: true });
    const set = (status: "exchanging" | "failed") =>
      database(env)
        .update(oauth_authorizations)
        .set({ status })
        .where(eq(oauth_authorizations.id, auth_id));
    await set("exchanging");
    const deleted = await api(`/v2/auth/tokens/${token_id}`, { key, method: "DELETE" });
    expect(deleted.status).toBe(204);
    const change = { ...moved, client_secret: "another" };
    const refused = await patch(id, change);
    expect([refused.status, await refused.text()]).toEqual([
      409,
      expect.stringContaining("exchanges a code"),
    ]);
    expect((await patch(id, { token_url: `${DOWN}/other` })).status).toBe(200);
    await set("failed");
    expect((await patch(id, change)).status).toBe(200);
  });

  test("forgets where it revoked", async () => {
    const id = await provider(ours.editor, { revocation_url: `${DOWN}/revoke` });
    const response = await patch(id, { ...moved, client_secret: "another" });
    expect(await response.json()).toMatchObject({ ...moved, revocation_url: null });
  });
});

test("a workspace has as many providers as its list shows", async () => {
  const { editor } = await workspace();
  const create = () => api(PATH, { key: editor, json: providerBody() });
  const { id } = await (await create()).json<{ id: string }>();
  const columns = Object.keys(getTableColumns(oauth_providers));
  const numbered: Record<string, string> = {
    id: "substr(id, 1, 24) || printf('%012x', i)",
    provider_id: "provider_id || i",
  };
  const copied = columns.map((name) => numbered[name] ?? name);
  await env.DB.prepare(
    `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 498)
     INSERT INTO oauth_providers (${columns}) SELECT ${copied} FROM oauth_providers, n WHERE id = ?`,
  )
    .bind(id)
    .run();
  expect((await create()).status).toBe(200);
  const refused = await create();
  expect([refused.status, await refused.text()]).toEqual([
    409,
    expect.stringContaining("limit of 500 OAuth providers"),
  ]);
  const listed = await (await api(PATH, { key: editor })).json<unknown[]>();
  expect(listed).toHaveLength(500);
});
