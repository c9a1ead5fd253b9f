import { env } from "cloudflare:workers";
import { eq, getTableColumns } from "drizzle-orm";
import { beforeAll, describe, expect, test } from "vitest";
import { sweepAuthorizations } from "../../../src/control-plane/oauth/storage/sweep.ts";
import { oauth_authorizations } from "../../../src/control-plane/oauth/table.ts";
import { database } from "../../../src/shared/context.ts";
import { newId } from "../../../src/shared/storage/ids.ts";
import { createApiKey, revokeApiKey } from "../../support/organizations.ts";
import { api, type TestWorkspace, workspace } from "../../support/workspace.ts";
import { authenticate, person, provider } from "./support.ts";

let ours: TestWorkspace;
let theirs: TestWorkspace;
let github: string;
beforeAll(async () => {
  [ours, theirs] = await Promise.all([workspace(), workspace()]);
  github = await provider(ours.editor);
});

const HOUR = 3_600_000;

async function wait(auth_id: string, key: string, timeout = 0) {
  const response = await api(`/v2/auth/wait/${auth_id}?timeout=${timeout}`, { key });
  expect(response.status).toBe(200);
  return response.json<{ status: string; token: string | null; error: string | null }>();
}

function stateOf(url: string): string {
  return new URL(url).searchParams.get("state") ?? "";
}

function row(auth_id: string) {
  return database(env)
    .select()
    .from(oauth_authorizations)
    .where(eq(oauth_authorizations.id, auth_id))
    .get();
}

test("a first authentication answers where to consent, with state and PKCE", async () => {
  const requested = await authenticate(ours.viewer, { provider: github, scopes: ["repo", "user"] });
  expect(requested).toMatchObject({ status: "pending", token: null, auth_id: expect.any(String) });
  const params = Object.fromEntries(new URL(requested.url).searchParams);
  expect(params).toEqual({
    response_type: "code",
    client_id: "client",
    redirect_uri: `https://heddle.test/v2/auth/callback/${github}`,
    scope: "repo user",
    state: expect.stringMatching(/^[A-Za-z0-9]{43}$/),
    code_challenge: expect.stringMatching(/^[\w-]{43}$/),
    code_challenge_method: "S256",
  });
  expect(JSON.stringify(await row(requested.auth_id))).not.toContain(params.state);
});

test.each([
  ["POST", "/v2/auth/authenticate"],
  ["GET", "/v2/auth/wait/019aa2a4-0000-7000-8000-000000000000"],
  ["POST", "/v2/auth/callback/p"],
])("%s %s needs a key", async (method, path) => {
  expect((await api(path, { method })).status).toBe(401);
});

test("a provider of another workspace does not exist", async () => {
  const json = { provider: github, scopes: [] };
  expect((await api("/v2/auth/authenticate", { key: theirs.admin, json })).status).toBe(404);
});

test.each([
  [{ scopes: ["a b"] }, "scopes"],
  [{ scopes: ['"'] }, "scopes"],
  [{ provider: "a b" }, "provider"],
  [{ token_id: "x" }, "token_id"],
])("%j is refused", async (fields, field) => {
  const json = { provider: github, scopes: [], ...fields };
  const response = await api("/v2/auth/authenticate", { key: ours.viewer, json });
  expect([response.status, await response.text()]).toEqual([422, expect.stringContaining(field)]);
});

test("a caller cannot authenticate as another user of Heddle", async () => {
  const { user_id } = await person(ours, "viewer");
  const json = { provider: github, scopes: [], ls_user_id: user_id };
  expect((await api("/v2/auth/authenticate", { key: ours.admin, json })).status).toBe(403);
});

test("only its requester waits for a consent; others get 404", async () => {
  const [ada, eve] = await Promise.all([person(ours, "viewer"), person(ours, "admin")]);
  const { auth_id, user_id } = await authenticate(ada.key, { provider: github });
  expect(user_id).toBe(ada.user_id);
  expect((await wait(auth_id, ada.key)).status).toBe("pending");
  expect((await wait(auth_id, ada.key, 0.2)).status).toBe("timeout");
  for (const key of [eve.key, ours.admin, theirs.admin]) {
    expect((await wait(auth_id, key)).status).toBe("not_found");
  }
});

test("an error of the provider is shown as text and returned by wait, and its state is valid once", async () => {
  const { url, auth_id } = await authenticate(ours.viewer, { provider: github });
  const query = new URLSearchParams({
    state: stateOf(url),
    error: "access_denied",
    error_description: "<b>no</b>",
  });
  const page = await api(`/v2/auth/callback/${github}?${query}`);
  expect(page.status).toBe(400);
  expect(page.headers.get("Content-Type")).toContain("text/html");
  expect(page.headers.get("Cache-Control")).toBe("no-store");
  expect(page.headers.get("Content-Security-Policy")).toContain("default-src 'none'");
  expect(await page.text()).toContain("access_denied: &lt;b&gt;no&lt;/b&gt;");
  expect(await wait(auth_id, ours.viewer)).toEqual({
    status: "failed",
    token: null,
    error: "access_denied: <b>no</b>",
  });
  const again = await api(`/v2/auth/callback/${github}?${query}`);
  expect([again.status, await again.text()]).toEqual([
    400,
    expect.stringContaining("no longer valid"),
  ]);
});

/** The form that the browser sends. */
function confirm(
  provider_id: string,
  fields: Record<string, string>,
  more: Record<string, string> = {},
) {
  return api(`/v2/auth/callback/${provider_id}/confirm`, {
    method: "POST",
    body: new URLSearchParams(fields).toString(),
    headers: { "Content-Type": "application/x-www-form-urlencoded", ...more },
  });
}

describe("the page of the callback", () => {
  test("shows the requester and the scopes, and does nothing until it is answered", async () => {
    const eve = await person(ours, "viewer");
    const { url, auth_id } = await authenticate(eve.key, {
      provider: github,
      scopes: ["repo", "user"],
      user_id: "<i>ada</i>",
      agent_id: "helper",
    });
    const state = stateOf(url);
    for (const _reload of [1, 2]) {
      const page = await api(`/v2/auth/callback/${github}?code=%22c%22&state=${state}`);
      expect(page.status).toBe(200);
      expect(page.headers.get("Cache-Control")).toBe("no-store");
      expect(page.headers.get("Content-Security-Policy")).toMatch(
        /^default-src 'none';.* form-action 'self'; frame-ancestors 'none'/,
      );
      const text = await page.text();
      expect(text).toContain(`<dt>Requested by</dt><dd>${eve.email}</dd>`);
      expect(text).toMatch(/<dt>Workspace<\/dt><dd>research, acme-/);
      expect(text).toContain("<dt>For their user</dt><dd>&lt;i&gt;ada&lt;/i&gt;</dd>");
      expect(text).toContain("<dt>Agents</dt><dd>helper</dd>");
      expect(text).toContain("<dt>Access</dt><dd>repo, user</dd>");
      expect(text).toContain('name="code" value="&quot;c&quot;"');
      expect(text).toContain(`action="../callback/${github}/confirm"`);
      expect(text).not.toContain("<script");
      expect((await wait(auth_id, eve.key)).status).toBe("pending");
    }
  });

  test("names a service key by its first letters", async () => {
    const { url } = await authenticate(ours.viewer, { provider: github });
    const page = await api(`/v2/auth/callback/${github}?code=c&state=${stateOf(url)}`);
    const text = await page.text();
    expect(text).toContain(`<dd>the API key ${ours.viewer.slice(0, 12)}...</dd>`);
    expect(text).not.toContain(ours.viewer.slice(0, 13));
    expect(text).toContain("<dd>all of theirs</dd>");
  });

  test("that is answered with cancel ends the consent, once", async () => {
    const { url, auth_id } = await authenticate(ours.viewer, { provider: github });
    const fields = { code: "c", state: stateOf(url), answer: "cancel" };
    const page = await confirm(github, fields);
    expect([page.status, await page.text()]).toEqual([
      400,
      expect.stringContaining("the user cancelled"),
    ]);
    expect(await wait(auth_id, ours.viewer)).toMatchObject({
      status: "failed",
      error: "access_denied: the user cancelled",
    });
    const late = await confirm(github, { ...fields, answer: "connect" });
    expect([late.status, await late.text()]).toEqual([
      400,
      expect.stringContaining("no longer valid"),
    ]);
  });

  test.each([{ answer: "maybe" }, { answer: "" }, { state: "" }, { code: "" }])(
    "takes no %j",
    async (fields) => {
      const { url, auth_id } = await authenticate(ours.viewer, { provider: github });
      const given = { code: "c", state: stateOf(url), answer: "connect", ...fields };
      expect((await confirm(github, given)).status).toBe(422);
      expect((await wait(auth_id, ours.viewer)).status).toBe("pending");
    },
  );

  test.each(["cross-site", "same-site", "none"])(
    "takes no form that a browser calls %s",
    async (site) => {
      const { url, auth_id } = await authenticate(ours.viewer, { provider: github });
      const fields = { code: "c", state: stateOf(url), answer: "connect" };
      const refused = await confirm(github, fields, { "Sec-Fetch-Site": site });
      expect([refused.status, await refused.text()]).toEqual([
        400,
        expect.stringContaining("another site"),
      ]);
      expect((await wait(auth_id, ours.viewer)).status).toBe("pending");
      const own = { "Sec-Fetch-Site": "same-origin" };
      const cancelled = await confirm(github, { ...fields, answer: "cancel" }, own);
      expect(await cancelled.text()).toContain("the user cancelled");
    },
  );

  test("is not shown for a key that was revoked since", async () => {
    const { organization_id, workspace_id } = ours;
    const db = database(env);
    const key = { kind: "service", organization_id, workspace_id, role: "viewer" } as const;
    const { id: api_key_id, api_key } = await createApiKey(db, key);
    const { url } = await authenticate(api_key, { provider: github });
    await revokeApiKey(db, { organization_id, api_key_id });
    const query = `code=c&state=${stateOf(url)}`;
    expect((await api(`/v2/auth/callback/${github}?${query}`)).status).toBe(400);
  });
});

test("a provider that is down at the exchange fails the authorization with a reason", async () => {
  const { url, auth_id } = await authenticate(ours.viewer, { provider: github });
  const page = await confirm(github, { code: "c", state: stateOf(url), answer: "connect" });
  expect(page.status).toBe(400);
  expect(await wait(auth_id, ours.viewer)).toMatchObject({
    status: "failed",
    error: expect.stringContaining("127.0.0.1:9"),
  });
});

test.each([
  ["no state", ""],
  ["a made-up state", "state=abc&code=c"],
])("a callback with %s changes nothing", async (_case, query) => {
  expect((await api(`/v2/auth/callback/${github}?${query}`)).status).toBe(400);
});

test("a state is valid at one provider, for ten minutes", async () => {
  const other = await provider(ours.editor);
  const { url, auth_id } = await authenticate(ours.viewer, { provider: github });
  const query = `error=x&state=${stateOf(url)}`;
  expect((await api(`/v2/auth/callback/${other}?${query}`)).status).toBe(400);
  expect((await wait(auth_id, ours.viewer)).status).toBe("pending");
  const past = new Date(Date.now() - 1).toISOString();
  await database(env)
    .update(oauth_authorizations)
    .set({ expires_at: past })
    .where(eq(oauth_authorizations.id, auth_id));
  await api(`/v2/auth/callback/${github}?${query}`);
  expect(await row(auth_id)).toMatchObject({ status: "pending" });
  expect(await wait(auth_id, ours.viewer)).toMatchObject({
    status: "failed",
    error: expect.stringContaining("expired"),
  });
});

test("a code with a key is valid for the requester's own state", async () => {
  const ada = await person(ours, "viewer");
  const { url, auth_id } = await authenticate(ada.key, { provider: github });
  const json = { code: "c", state: stateOf(url) };
  const path = `/v2/auth/callback/${github}`;
  expect((await api(path, { key: ours.admin, json })).status).toBe(404);
  expect((await wait(auth_id, ada.key)).status).toBe("pending");
  expect((await api(path, { key: ada.key, json })).status).toBe(400);
  expect((await wait(auth_id, ada.key)).status).toBe("failed");
});

test("a change of the provider ends the consents that began before it", async () => {
  const id = await provider(ours.editor);
  const { url, auth_id } = await authenticate(ours.viewer, { provider: id });
  const json = { auth_url: "http://127.0.0.1:9/other" };
  await api(`/v2/auth/providers/${id}`, { key: ours.editor, method: "PATCH", json });
  expect((await wait(auth_id, ours.viewer)).status).toBe("not_found");
  expect((await api(`/v2/auth/callback/${id}?code=c&state=${stateOf(url)}`)).status).toBe(400);
});

test("the sweep forgets consents an hour after their end, and may run twice", async () => {
  const [old, recent] = [
    await authenticate(ours.viewer, { provider: github }),
    await authenticate(ours.viewer, { provider: github }),
  ];
  const crashed = await authenticate(ours.viewer, { provider: github });
  const db = database(env);
  const expire = (auth_id: string, status: "pending" | "exchanging") =>
    db
      .update(oauth_authorizations)
      .set({ status, expires_at: new Date(Date.now() - 2 * HOUR).toISOString() })
      .where(eq(oauth_authorizations.id, auth_id));
  await expire(old.auth_id, "pending");
  await expire(crashed.auth_id, "exchanging");
  for (const _run of [1, 2]) await sweepAuthorizations(env, new Date());
  expect(await row(old.auth_id)).toBeUndefined();
  expect(await row(crashed.auth_id)).toBeUndefined();
  expect(await row(recent.auth_id)).toMatchObject({ status: "pending" });
});

test("a grant that cannot be opened is forgotten after a day, and does not keep others waiting", async () => {
  const broken = await provider(ours.editor);
  const unsealed = await authenticate(ours.viewer, { provider: broken });
  const crashed = await authenticate(ours.viewer, { provider: github });
  const { results } = await env.DB.prepare(
    "UPDATE oauth_providers SET ciphertext = 'broken' WHERE provider_id = ? RETURNING id",
  )
    .bind(broken)
    .all();
  expect(results).toHaveLength(1);
  const db = database(env);
  const cut = (auth_id: string, hours: number) =>
    db
      .update(oauth_authorizations)
      .set({
        status: "exchanging",
        expires_at: new Date(Date.now() - hours * HOUR).toISOString(),
      })
      .where(eq(oauth_authorizations.id, auth_id));
  await cut(unsealed.auth_id, 3);
  await cut(crashed.auth_id, 2);
  await sweepAuthorizations(env, new Date());
  expect(await row(unsealed.auth_id)).toMatchObject({ status: "exchanging" });
  expect(await row(crashed.auth_id)).toBeUndefined();
  await cut(unsealed.auth_id, 26);
  await sweepAuthorizations(env, new Date(Date.now() + HOUR));
  expect(await row(unsealed.auth_id)).toBeUndefined();
});

test("lost exchanges that cannot be settled are tried again in an hour, behind those of other workspaces", async () => {
  const broken = await provider(ours.editor);
  const { auth_id } = await authenticate(ours.viewer, { provider: broken });
  await env.DB.prepare("UPDATE oauth_providers SET ciphertext = 'broken' WHERE provider_id = ?")
    .bind(broken)
    .run();
  const stuck = await row(auth_id);
  if (stuck === undefined) throw new Error("The consent has no row");
  const old = (hours: number) => ({
    status: "exchanging" as const,
    expires_at: new Date(Date.now() - hours * HOUR).toISOString(),
  });
  const db = database(env);
  const copy = () => ({ ...stuck, ...old(3), id: newId(), token_id: newId(), state_sha256: null });
  const copies = Array.from({ length: 60 }, copy);
  for (const values of copies) await db.insert(oauth_authorizations).values(values);
  const other = await authenticate(theirs.viewer, { provider: await provider(theirs.editor) });
  await db
    .update(oauth_authorizations)
    .set(old(2))
    .where(eq(oauth_authorizations.id, other.auth_id));
  const now = new Date();
  const nextAttempt = new Date(now.getTime() + HOUR).toISOString();
  const tried = () =>
    db.$count(oauth_authorizations, eq(oauth_authorizations.next_attempt_at, nextAttempt));
  await sweepAuthorizations(env, now);
  expect(await row(other.auth_id)).toBeUndefined();
  expect(await tried()).toBe(49);
  await sweepAuthorizations(env, now);
  expect(await tried()).toBe(60);
});

test("scopes have a limit together", async () => {
  const scopes = Array.from({ length: 20 }, (_, n) => `${n}${"s".repeat(500)}`);
  const refused = await api("/v2/auth/authenticate", {
    key: ours.viewer,
    json: { provider: github, scopes },
  });
  expect([refused.status, await refused.text()]).toEqual([422, expect.stringContaining("scopes")]);
});

test("an owner has a thousand pending consents: further ones replace the oldest", async () => {
  const { key } = await person(ours, "viewer");
  const first = await authenticate(key, { provider: github });
  const names = Object.keys(getTableColumns(oauth_authorizations));
  const copied = names.map((name) => (["id", "state_sha256"].includes(name) ? "id || n" : name));
  await env.DB.prepare(
    `WITH RECURSIVE numbers(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < 999)
      INSERT INTO oauth_authorizations (${names}) SELECT ${copied} FROM oauth_authorizations, numbers WHERE id = ?`,
  )
    .bind(first.auth_id)
    .run();
  const last = await authenticate(key, { provider: github });
  const { owner = "" } = (await row(last.auth_id)) ?? {};
  const isOwned = eq(oauth_authorizations.owner, owner);
  expect(await database(env).$count(oauth_authorizations, isOwned)).toBe(1000);
  expect(await row(first.auth_id)).toBeUndefined();
});
