import { describe, expect, test } from "vitest";
import { endPage } from "../../../src/control-plane/oauth/authorizations/page.ts";
import {
  type Candidate,
  decideToken,
} from "../../../src/control-plane/oauth/authorizations/token-decision.ts";
import { readGrant, retryAfter } from "../../../src/control-plane/oauth/client/grants.ts";
import {
  issuersOf,
  metadataUrls,
  resourceMetadataOf,
  resourceMetadataUrls,
  resourceOf,
} from "../../../src/control-plane/oauth/client/metadata.ts";
import {
  authenticatedForm,
  basic,
} from "../../../src/control-plane/oauth/client/provider-client.ts";
import {
  judge,
  revocationForm,
  verdictOfGrant,
} from "../../../src/control-plane/oauth/client/revocation.ts";
import { ownerOf, subjectOf } from "../../../src/control-plane/oauth/owner.ts";
import { consentUrl, redirectUri } from "../../../src/control-plane/oauth/redirect.ts";
import type { Actor, Caller } from "../../../src/shared/context.ts";

const NOW = Date.parse("2026-11-20T12:00:00.000Z");

function answer(status: number, body: Record<string, unknown>, retry_after: string | null = null) {
  return { status, body, retry_after, host: "id.test" };
}

describe("a grant", () => {
  test.each([
    [{ access_token: "a" }, { expires_at: null, refresh_at: null, scopes: null }],
    [
      { access_token: "a", expires_in: 3600 },
      { expires_at: "2026-11-20T13:00:00.000Z", refresh_at: "2026-11-20T12:59:00.000Z" },
    ],
    [
      { access_token: "a", expires_in: "10" },
      { expires_at: "2026-11-20T12:00:10.000Z", refresh_at: "2026-11-20T12:00:09.000Z" },
    ],
    [
      { access_token: "a", expires_in: 2 ** 53 - 1 },
      { expires_at: null, refresh_at: null },
    ],
    [{ access_token: "a", scope: "repo user" }, { scopes: ["repo", "user"] }],
    [{ access_token: "a", scope: "repo,user" }, { scopes: ["repo", "user"] }],
    [{ access_token: "a", refresh_token: "r" }, { refresh_token: "r" }],
    [
      { ok: true, authed_user: { access_token: "xoxp", scope: "chat:write" } },
      { access_token: "xoxp", scopes: ["chat:write"] },
    ],
    [{ access_token: "a", team: { name: "Acme" } }, { account_label: "Acme" }],
    [
      { access_token: "a", id_token: `x.${btoa('{"sub":"7","email":"a@b.test"}')}.y` },
      { account_label: "a@b.test" },
    ],
    [{ access_token: "a", id_token: "not.json.text" }, { account_label: null }],
  ])("of %j", (body, expected) => {
    expect(readGrant(answer(200, body), NOW)).toMatchObject({ ok: true, grant: expected });
  });

  test.each([
    [400, { error: "invalid_grant" }, "ended"],
    [200, { error: "bad_verification_code", error_description: "old" }, "ended"],
    [401, { error: "invalid_client" }, "refused"],
    [200, {}, "refused"],
    [302, {}, "refused"],
    [500, {}, "unavailable"],
    [429, { error: "slow_down" }, "unavailable"],
  ])("is none in an answer %i %j: %s", (status, body, reason) => {
    expect(readGrant(answer(status, body), NOW)).toMatchObject({ ok: false, reason });
  });

  test.each([
    [null, 30],
    ["7", 7],
    ["0", 1],
    ["999999", 3600],
    ["Fri, 20 Nov 2026 12:00:09 GMT", 9],
    ["soon", 30],
  ])("Retry-After %s is %i seconds", (header, seconds) => {
    expect(retryAfter(header, NOW)).toBe(seconds);
  });
});

describe("revocation", () => {
  const at = (token_url: string, fields = {}) =>
    revocationForm({
      token_url,
      provider_type: null,
      revocation_url: null,
      client_id: "a/b",
      ...fields,
    });

  test.each([
    [
      "https://github.com/login/oauth/access_token",
      {},
      "github",
      "https://api.github.com/applications/a%2Fb/token",
    ],
    [
      "https://git.acme.test/login/oauth/access_token",
      { provider_type: "github" },
      "github",
      "https://git.acme.test/api/v3/applications/a%2Fb/token",
    ],
    ["https://slack.com/api/oauth.v2.access", {}, "slack", "https://slack.com/api/auth.revoke"],
    ["https://oauth2.googleapis.com/token", {}, "rfc7009", "https://oauth2.googleapis.com/revoke"],
    [
      "https://acme.my.salesforce.com/services/oauth2/token",
      { provider_type: "salesforce" },
      "rfc7009",
      "https://acme.my.salesforce.com/services/oauth2/revoke",
    ],
    ["https://login.microsoftonline.com/t/oauth2/v2.0/token", {}, "none", undefined],
    ["https://id.test/token", {}, "published", undefined],
    [
      "https://id.test/token",
      { revocation_url: "https://id.test/r" },
      "rfc7009",
      "https://id.test/r",
    ],
    ["https://github.com.evil.test/token", {}, "published", undefined],
  ])("of a token from %s %j is %s", (token_url, fields, kind, url) => {
    expect(at(token_url, fields)).toEqual(url === undefined ? { kind } : { kind, url });
  });

  test.each([
    ["rfc7009", 200, {}, "gone"],
    ["rfc7009", 204, {}, "gone"],
    ["rfc7009", 400, { error: "invalid_token" }, "gone"],
    ["rfc7009", 400, { error: "unsupported_token_type" }, "unsupported"],
    ["rfc7009", 400, { error: "invalid_request" }, "refused"],
    ["rfc7009", 401, { error: "invalid_client" }, "refused"],
    ["rfc7009", 404, {}, "refused"],
    ["rfc7009", 302, {}, "refused"],
    ["rfc7009", 503, {}, "unavailable"],
    ["rfc7009", 429, {}, "unavailable"],
    ["github", 204, {}, "gone"],
    ["github", 404, {}, "gone"],
    ["github", 422, {}, "refused"],
    ["github", 401, {}, "refused"],
    ["slack", 200, { ok: true, revoked: true }, "gone"],
    ["slack", 200, { ok: false, error: "token_revoked" }, "gone"],
    ["slack", 200, { ok: false, error: "ratelimited" }, "unavailable"],
    ["slack", 200, { ok: false, error: "no_permission" }, "refused"],
    ["slack", 200, {}, "refused"],
  ] as const)("an answer of %s, %i %j, means %s", (kind, status, body, verdict) => {
    expect(judge(kind, status, body)).toBe(verdict);
  });

  test("revoking the refresh token suffices when the access token cannot be revoked", () => {
    expect(verdictOfGrant(["gone", "unsupported"])).toBe("gone");
    expect(verdictOfGrant(["unsupported", "unsupported"])).toBe("unsupported");
  });
});

describe("discovery", () => {
  test("looks where RFC 8414 and OpenID put the metadata of an issuer", () => {
    expect(metadataUrls("https://id.test/")).toEqual([
      "https://id.test/.well-known/oauth-authorization-server",
      "https://id.test/.well-known/openid-configuration",
    ]);
    expect(metadataUrls("https://id.test/realms/x")).toEqual([
      "https://id.test/.well-known/oauth-authorization-server/realms/x",
      "https://id.test/.well-known/openid-configuration/realms/x",
      "https://id.test/realms/x/.well-known/openid-configuration",
    ]);
  });

  test.each([
    ["https://id.test/", ["https://id.test"]],
    ["https://id.test/token", ["https://id.test"]],
    [
      "https://id.test/realms/x/token",
      ["https://id.test", "https://id.test/realms", "https://id.test/realms/x"],
    ],
    ["https://id.test/a/b/c/d/e/f/g/h/token", expect.toSatisfy((list) => list.length === 6)],
  ])("of %s tries %j", (token_url, issuers) => {
    expect(issuersOf(token_url)).toEqual(issuers);
  });

  test("of an MCP server follows its challenge and RFC 9728", () => {
    const challenge = 'Bearer error="x", resource_metadata="https://mcp.test/meta"';
    expect(resourceMetadataOf(challenge)).toBe("https://mcp.test/meta");
    expect(resourceMetadataOf("Bearer")).toBeNull();
    expect(resourceMetadataOf(null)).toBeNull();
    expect(resourceMetadataUrls("https://mcp.test/v1/mcp")).toEqual([
      "https://mcp.test/.well-known/oauth-protected-resource/v1/mcp",
      "https://mcp.test/.well-known/oauth-protected-resource",
    ]);
    expect(resourceOf("https://mcp.test/mcp#top")).toBe("https://mcp.test/mcp");
    expect(resourceOf("https://mcp.test/")).toBe("https://mcp.test");
  });
});

describe("the address of the consent", () => {
  const consent = {
    client_id: "id",
    redirect_uri: "https://heddle.test/v2/auth/callback/p",
    scopes: ["a", "b"],
    state: "s",
    challenge: { value: "c", method: "S256" },
    resource: null,
  };

  test("keeps parameters of auth_url that Heddle does not set", () => {
    const url = new URL(consentUrl("https://id.test/auth?prompt=consent&state=forged", consent));
    expect(Object.fromEntries(url.searchParams)).toEqual({
      prompt: "consent",
      state: "s",
      response_type: "code",
      client_id: "id",
      redirect_uri: consent.redirect_uri,
      scope: "a b",
      code_challenge: "c",
      code_challenge_method: "S256",
    });
  });

  test("uses BASE_URL when it is set, and the origin of the request otherwise", () => {
    expect(redirectUri({ BASE_URL: "" }, "https://a.test", "p")).toBe(
      "https://a.test/v2/auth/callback/p",
    );
    expect(redirectUri({ BASE_URL: "https://h.test/" }, "https://evil.test", "p")).toBe(
      "https://h.test/v2/auth/callback/p",
    );
  });
});

describe("a client's credentials", () => {
  const provider = {
    provider_id: "p",
    provider_type: null,
    token_url: "https://id.test/token",
    revocation_url: null,
    client_id: "a b",
    client_secret: "s:1",
    token_endpoint_auth_method: "client_secret_post",
    token_request_headers: { "X-Tenant": "t" },
    resource: null,
  } as const;

  test("go as the provider takes them", () => {
    const post = authenticatedForm(provider, { token: "t" });
    expect(Object.fromEntries(post.form)).toEqual({
      token: "t",
      client_id: "a b",
      client_secret: "s:1",
    });
    expect(post.headers).toEqual({ "X-Tenant": "t" });
    const inHeader = { ...provider, token_endpoint_auth_method: "client_secret_basic" } as const;
    const { headers, form } = authenticatedForm(inHeader, { token: "t" });
    expect(form.toString()).toBe("token=t");
    expect(headers.Authorization).toBe(basic("a b", "s:1"));
    expect(atob(basic("a b", "s:1").slice(6))).toBe("a+b:s%3A1");
    const none = authenticatedForm({ ...provider, token_endpoint_auth_method: "none" }, {});
    expect(none.form.toString()).toBe("client_id=a+b");
  });
});

describe("an owner", () => {
  const caller = (actor: Actor): Caller => ({
    organization_id: "o",
    workspace_id: "w",
    role: "admin",
    plan: "plus",
    actor,
  });
  const service = caller({ type: "api_key", key_id: "k", user_id: null });
  const personal = caller({ type: "api_key", key_id: "k", user_id: "u" });
  const person = caller({ type: "user", user_id: "u" });

  test("is the user of a session or personal key, or the service key, and never a job", () => {
    expect([service, personal, person].map(ownerOf)).toEqual(["key:k", "user:u", "user:u"]);
    expect(() => ownerOf(caller({ type: "system", job: "j" }))).toThrow("no OAuth tokens");
  });

  test("names only users of its owner", () => {
    expect(subjectOf(service, { user_id: "ada" })).toBe("ada");
    expect(subjectOf(person, { user_id: "u" })).toBe("");
    expect(subjectOf(person, { ls_user_id: "u", user_id: null })).toBe("");
    for (const one of [service, person]) {
      expect(() => subjectOf(one, { ls_user_id: "other" })).toThrow("the id of the caller");
    }
  });
});

describe("of several tokens", () => {
  const token = (id: string, fields: Partial<Candidate> = {}): Candidate => ({
    id,
    agent_id: null,
    scopes: ["repo"],
    requested_scopes: ["repo"],
    is_default: false,
    created_at: `2026-11-20T12:00:0${id}.000Z`,
    ...fields,
  });
  const wanted = { scopes: ["repo"], agent_id: null, token_id: null, force_new: false };
  const choice = (
    tokens: Candidate[],
    fields: Partial<Parameters<typeof decideToken>[1]> = {},
    connected: string[] = [],
  ) => {
    const chosen = decideToken(tokens, { ...wanted, ...fields }, new Set(connected));
    return "token" in chosen ? `${chosen.do} ${chosen.token?.id ?? "none"}` : chosen.do;
  };

  test.each<[string, Parameters<typeof choice>, string]>([
    ["none", [[]], "consent none"],
    ["the newest", [[token("1"), token("2")]], "read 2"],
    ["the default one", [[token("1", { is_default: true }), token("2")]], "read 1"],
    [
      "the agent's own before the default",
      [[token("1", { is_default: true }), token("2", { agent_id: "a" })], { agent_id: "a" }],
      "read 2",
    ],
    [
      "the connected one before all",
      [[token("1", { agent_id: "b" }), token("2", { agent_id: "a" })], { agent_id: "a" }, ["1"]],
      "read 1",
    ],
    ["not another agent's", [[token("1", { agent_id: "b" })], { agent_id: "a" }], "consent none"],
    ["not an agent's without one", [[token("1", { agent_id: "b" })]], "consent none"],
    ["not one with less scopes", [[token("1")], { scopes: ["repo", "user"] }], "consent none"],
    [
      "one that was granted less than was asked",
      [[token("1", { requested_scopes: ["repo", "user"] })], { scopes: ["repo", "user"] }],
      "read 1",
    ],
    ["a new one by force", [[token("1")], { force_new: true }], "consent none"],
    ["the named one", [[token("1"), token("2")], { token_id: "1" }], "read 1"],
    [
      "the named one anew by force",
      [[token("1")], { token_id: "1", force_new: true }],
      "consent 1",
    ],
    [
      "the named one of another agent",
      [[token("1", { agent_id: "b" })], { token_id: "1" }],
      "connect 1",
    ],
    ["a named one that is not there", [[token("1")], { token_id: "9" }], "refuse"],
  ])("%s is taken", (_case, args, expected) => {
    expect(choice(...args)).toBe(expected);
  });
});

test("the page at the end shows the message of a provider as text", () => {
  const message = '<script>alert("1")</script>';
  const page = endPage({ status: "failed", message, provider_name: "A&B" });
  expect(page).not.toContain("<script>");
  expect(page).toContain("&lt;script&gt;");
  expect(page).toContain("A&amp;B not connected");
});
