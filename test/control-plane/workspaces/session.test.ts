import { env } from "cloudflare:workers";
import { eq } from "drizzle-orm";
import { beforeAll, describe, expect, test } from "vitest";
import { forgetCallers } from "../../../src/control-plane/workspaces/caller-cache.ts";
import { isEnded, recordEnd } from "../../../src/control-plane/workspaces/ended-sessions.ts";
import type { Me } from "../../../src/control-plane/workspaces/session/session-schema.ts";
import { sealSession } from "../../../src/control-plane/workspaces/session-token.ts";
import { memberships } from "../../../src/control-plane/workspaces/table.ts";
import { database } from "../../../src/shared/context.ts";
import { sha256Hex } from "../../../src/shared/crypto/crypto.ts";
import { newId } from "../../../src/shared/storage/ids.ts";
import { createApiKey, createWorkspace, setMembership } from "../../support/organizations.ts";
import { memberWithSession, OWN_PAGE, signIn } from "../../support/sessions.ts";
import { api, type TestWorkspace, workspace } from "../../support/workspace.ts";

let acme: TestWorkspace;
let cookie: string;
beforeAll(async () => {
  acme = await workspace();
  cookie = await signIn(acme.editor);
});

const withCookie = (headers: Record<string, string>, path = "/v1/me") =>
  api(path, { headers: { Cookie: cookie, ...headers } });

describe("a session of the console", () => {
  test("is a cookie that no script reads and no other site sends", async () => {
    const response = await api("/v1/session", { json: { api_key: acme.viewer } });
    const text = response.headers.get("Set-Cookie") ?? "";
    expect(text).toMatch(/^__Host-heddle=hds_/);
    expect(text).toContain("; Path=/; Max-Age=43200; Secure; HttpOnly; SameSite=Strict");
    expect(text).not.toContain(acme.viewer);
    const me = await response.json<Me>();
    expect(me.workspaces).toEqual([{ id: acme.workspace_id, name: "research", role: "viewer" }]);
  });

  test("acts with the role of its key", async () => {
    expect((await withCookie(OWN_PAGE)).status).toBe(200);
    const { workspaces, session_expires_at } = await (await withCookie(OWN_PAGE)).json<Me>();
    expect(workspaces).toEqual([{ id: acme.workspace_id, name: "research", role: "editor" }]);
    expect(Date.parse(session_expires_at ?? "")).toBeLessThanOrEqual(Date.now() + 12 * 3600 * 1000);
    expect((await withCookie(OWN_PAGE, "/v2/deployments")).status).toBe(200);
    expect((await withCookie(OWN_PAGE, "/v1/audit-logs")).status).toBe(403);
  });

  test.each([
    ["without the header", { "Sec-Fetch-Site": "same-origin" }],
    ["of another site", { ...OWN_PAGE, "Sec-Fetch-Site": "cross-site" }],
    ["of a sibling host", { ...OWN_PAGE, "Sec-Fetch-Site": "same-site" }],
    ["without metadata", { "X-Heddle-Console": "1" }],
  ])("does not count in a request %s", async (_, headers) => {
    expect((await withCookie(headers)).status).toBe(401);
  });

  test("is ignored beside a key", async () => {
    const { workspaces } = await (
      await withCookie({ ...OWN_PAGE, "X-Api-Key": acme.viewer })
    ).json<Me>();
    expect(workspaces.map(({ role }) => role)).toEqual(["viewer"]);
    expect((await withCookie({ ...OWN_PAGE, "X-Api-Key": "lsv2_sk_wrong" })).status).toBe(401);
  });

  test("ends with its key", async () => {
    const { id, key } = await (
      await api("/api/v1/api-key", { key: acme.admin, json: { role: "editor" } })
    ).json<{ id: string; key: string }>();
    const headers = { ...OWN_PAGE, Cookie: await signIn(key) };
    expect((await api("/v2/deployments", { headers })).status).toBe(200);
    await api(`/api/v1/api-key/${id}`, { key: acme.admin, method: "DELETE" });
    expect((await api("/v2/deployments", { headers })).status).toBe(401);
    expect((await api("/v1/me", { headers })).status).toBe(401);
  });

  test("ends when the secret of its key is rotated", async () => {
    const { id, key } = await (
      await api("/api/v1/api-key", { key: acme.admin, json: { role: "editor" } })
    ).json<{ id: string; key: string }>();
    const headers = { ...OWN_PAGE, Cookie: await signIn(key) };
    await api(`/api/v1/api-key/${id}/rotate`, { key: acme.admin, method: "POST" });
    expect((await api("/v1/me", { headers })).status).toBe(401);
  });

  test("expires, and cannot be forged", async () => {
    const principal = { sha256: sha256Hex(acme.editor) };
    const expires_at = new Date(Date.now() - 1000).toISOString();
    const old = await sealSession(env, { principal, expires_at });
    const altered = `${cookie.slice(0, -4)}AAAA`;
    for (const value of [`__Host-heddle=${old}`, altered, "__Host-heddle=hds_x:y"]) {
      const response = await api("/v1/me", { headers: { ...OWN_PAGE, Cookie: value } });
      expect(response.status).toBe(401);
      expect(await response.text()).toContain("sign in again");
    }
  });

  test("of an organization-wide key enters each workspace by its id", async () => {
    const db = database(env);
    const { organization_id } = acme;
    const second = await createWorkspace(db, { organization_id, name: "second" });
    const wide = { kind: "service", organization_id, workspace_id: null, role: "viewer" } as const;
    const headers = { ...OWN_PAGE, Cookie: await signIn((await createApiKey(db, wide)).api_key) };
    const { workspaces } = await (await api("/v1/me", { headers })).json<Me>();
    expect(workspaces.map(({ name }) => name)).toEqual(["second", "research"]);
    const listed = await api("/v2/deployments", { headers, tenant: second.id });
    expect(listed.status).toBe(200);
    const other = await workspace();
    expect((await api("/v2/deployments", { headers, tenant: other.workspace_id })).status).toBe(
      403,
    );
  });

  test("ends by signing out, also where its cookie was copied to", async () => {
    const headers = { ...OWN_PAGE, Cookie: await signIn(acme.editor) };
    expect((await api("/v2/deployments", { headers })).status).toBe(200);
    expect((await api("/v1/session", { headers, method: "DELETE" })).status).toBe(204);
    for (const path of ["/v1/me", "/v2/deployments"]) {
      const refused = await api(path, { headers });
      expect([refused.status, await refused.text()]).toEqual([
        401,
        expect.stringContaining("ended by signing out"),
      ]);
    }
    expect((await withCookie(OWN_PAGE)).status).toBe(200);
  });

  test("is refused in any other spelling of its cookie", async () => {
    const signedIn = await signIn(acme.editor);
    for (const spelled of [`${signedIn}:x`, `${signedIn}=`, signedIn.replace(/.$/, "$&*")]) {
      const refused = await api("/v1/me", { headers: { ...OWN_PAGE, Cookie: spelled } });
      expect([refused.status, await refused.text()]).toEqual([
        401,
        expect.stringContaining("sign in again"),
      ]);
    }
  });

  test("of a person without a workspace ends, also where the person is added again", async () => {
    const { user_id, headers } = await memberWithSession(acme, "viewer");
    const db = database(env);
    await db.delete(memberships).where(eq(memberships.user_id, user_id));
    forgetCallers();
    expect((await api("/v1/session", { headers, method: "DELETE" })).status).toBe(204);
    await setMembership(db, { user_id, workspace_id: acme.workspace_id, role: "viewer" });
    expect((await api("/v1/me", { headers })).status).toBe(401);
  });

  test("ends in more organizations than a statement has parameters", async () => {
    const token = crypto.randomUUID();
    const expires_at = new Date(Date.now() + 60_000).toISOString();
    const organization_ids = Array.from({ length: 150 }, () => newId());
    await recordEnd(database(env), { token, expires_at, organization_ids });
    expect(await isEnded(database(env), token)).toBe(true);
  });

  test("is refused as an API key", async () => {
    const token = cookie.slice(cookie.indexOf("=") + 1);
    for (const headers of [{ "X-Api-Key": token }, { Authorization: `Bearer ${token}` }]) {
      for (const path of ["/v1/me", "/v2/deployments", `/agents/${crypto.randomUUID()}/info`]) {
        const refused = await api(path, { headers });
        expect([refused.status, await refused.text()]).toEqual([
          401,
          expect.stringContaining("accepted as its cookie only"),
        ]);
      }
    }
  });

  test("is deleted by signing out", async () => {
    const response = await api("/v1/session", { method: "DELETE" });
    expect(response.status).toBe(204);
    expect(response.headers.get("Set-Cookie")).toContain("__Host-heddle=; Path=/; Max-Age=0");
  });
});

test.each([
  ["a wrong key", { json: { api_key: "lsv2_sk_wrong" } }, 401],
  ["no key", { json: {} }, 422],
  ["a page of another site", { headers: { "Sec-Fetch-Site": "cross-site" } }, 403],
])("signing in is refused with %s", async (_, call, status) => {
  const json = { api_key: acme.viewer };
  const response = await api("/v1/session", { json, ...call });
  expect(response.status).toBe(status);
  expect(response.headers.get("Set-Cookie")).toBe(null);
});

describe("the pages of the console", () => {
  test("are one document below /console, with a strict policy", async () => {
    for (const path of ["/console/", "/console/login", "/console/w/some/deployments/thing"]) {
      const response = await api(path);
      expect([path, response.status]).toEqual([path, 200]);
      const policy = response.headers.get("Content-Security-Policy") ?? "";
      expect(policy).toContain("default-src 'none'");
      expect(policy).toContain("script-src 'self'");
      expect(policy).toContain("require-trusted-types-for 'script'");
      expect(response.headers.get("Cache-Control")).toBe("no-cache");
      expect(await response.text()).toMatch(
        /<script type="module" src="\/console\/assets\/main-\w+\.js">/,
      );
    }
  });

  test("have hashed files that are cached for ever", async () => {
    const html = await (await api("/console/")).text();
    for (const [, path = ""] of html.matchAll(/(?:src|href)="(\/console\/[^"]+)"/g)) {
      const response = await api(path);
      expect(response.headers.get("Cache-Control")).toContain("immutable");
      await response.body?.cancel();
    }
    expect((await api("/console/assets/missing.js")).status).toBe(404);
  });

  test("are where the root leads a browser, and a client gets JSON", async () => {
    const browser = await api("/", { headers: { Accept: "text/html,*/*" } });
    expect(browser.status).toBe(200);
    expect(await browser.text()).toContain("/console/assets/");
    const client = await api("/");
    expect(await client.json()).toMatchObject({ name: "Heddle", docs: expect.any(String) });
  });

  test("answer for no other path", async () => {
    const headers = { Accept: "text/html" };
    expect((await api("/w/some/deployments", { headers })).status).toBe(404);
    expect((await api("/consoles", { headers })).status).toBe(404);
    expect(
      (await api("/console/index.html", { headers })).headers.get("Content-Security-Policy"),
    ).toContain("default-src 'none'");
  });
});
