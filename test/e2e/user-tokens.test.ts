// Users of the members API sign in with ID tokens of a certified OpenID provider.
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Browser, BrowserContext, Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { freePort } from "../../local/processes/ports.ts";
import { type Stack, startStack } from "../../local/stack.ts";
import { startBrowser } from "../support/node/browser.ts";
import { browserTest } from "../support/node/browser-test.ts";
import { fetchIdToken, registerClient } from "../support/node/id-token.ts";
import { type Oidc, startOidc } from "../support/node/oidc.ts";
import { type Answer, request } from "./support/http.ts";

type Member = { id: string; email: string; role: string };

const MEMBERS = "/api/v1/workspaces/current/members";

let dir: string;
let oidc: Oidc;
let stack: Stack;
let redirect_uri: string;

beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), "heddle-tokens-"));
  const port = await freePort();
  redirect_uri = `http://127.0.0.1:${port}/ok`;
  const callback = `http://localhost:${port}/v1/session/issuer/callback`;
  oidc = await startOidc({ redirect_uris: [redirect_uri, callback] });
  const variables = {
    BASE_URL: `http://localhost:${port}`,
    OIDC_ISSUER: oidc.issuer,
    OIDC_AUDIENCE: oidc.client_id,
    OIDC_CLIENT_ID: oidc.client_id,
    OIDC_CLIENT_SECRET: oidc.client_secret,
    REGIONS: `here=http://localhost:${port}, eu=https://eu.heddle.example.com`,
  };
  stack = await startStack({ dir, port, variables, quiet: true });
});

afterAll(async () => {
  await stack?.stop();
  await oidc?.close();
  await rm(dir, { recursive: true, force: true });
});

function call<T>(
  credential: Record<string, string>,
  method: string,
  path: string,
  body?: unknown,
): Promise<Answer<T>> {
  const headers = { "x-api-key": "", "x-tenant-id": "", ...credential };
  return request<T>(method, stack.info.base_url + path, body, headers);
}

function admin<T>(method: string, path: string, body?: unknown): Promise<Answer<T>> {
  return call<T>({ "x-api-key": stack.info.api_key }, method, path, body);
}

async function signIn(account: string, client = oidc): Promise<Record<string, string>> {
  const token = await fetchIdToken(oidc.issuer, client, redirect_uri, account);
  return { authorization: `Bearer ${token}` };
}

async function addMember(account: string, role: string): Promise<Member> {
  const email = `${account}@example.test`;
  const { status, body } = await admin<Member>("POST", MEMBERS, { email, role });
  expect([status, body]).toEqual([expect.toBeOneOf([200, 201]), expect.anything()]);
  return body;
}

const read = async (credential: Record<string, string>) =>
  (await call(credential, "GET", "/v2/deployments")).status;

const write = async (credential: Record<string, string>) =>
  (await call(credential, "POST", "/api/v1/sessions", { name: crypto.randomUUID() })).status;

test("a user of the members API signs in with the role that the API gave", async () => {
  const { id } = await addMember("ada", "viewer");
  const ada = await signIn("ada");
  expect([await read(ada), await write(ada)]).toEqual([200, 403]);
  expect((await admin("PATCH", `${MEMBERS}/${id}`, { role: "editor" })).status).toBe(200);
  await expect.poll(() => write(ada)).toBe(200);
  expect((await call(ada, "GET", "/api/v1/api-key")).status).toBe(403);
});

test("a user that no admin added is refused", async () => {
  const { status, body } = await call(await signIn("eve"), "GET", "/v2/deployments");
  expect([status, JSON.stringify(body)]).toEqual([401, expect.stringContaining("organization")]);
});

test("a token of the same person for another application is refused", async () => {
  await addMember("grace", "editor");
  const other = await registerClient(oidc.issuer, redirect_uri);
  const token = await signIn("grace", { ...oidc, ...other });
  const { status, body } = await call(token, "GET", "/v2/deployments");
  expect([status, JSON.stringify(body)]).toEqual([401, expect.stringContaining("aud")]);
  expect(await read(await signIn("grace"))).toBe(200);
});

test("a removed user is refused, with the token and with personal keys", async () => {
  const { id } = await addMember("alan", "editor");
  const alan = await signIn("alan");
  const created = await call<{ key: string }>(alan, "POST", "/api/v1/api-key/current", {});
  expect(created.status).toBe(200);
  const personal = { "x-api-key": created.body.key };
  expect([await read(alan), await read(personal)]).toEqual([200, 200]);
  expect((await admin("DELETE", `${MEMBERS}/${id}`)).status).toBe(200);
  await expect.poll(() => read(alan)).toBeOneOf([401, 403]);
  await expect.poll(() => read(personal)).toBe(401);
});

async function withSignInPage(
  account: string,
  work: (page: Page, context: BrowserContext) => Promise<void>,
) {
  const browser: Browser = await startBrowser();
  try {
    const context = await browser.newContext();
    const page = await context.newPage();
    oidc.seat(account);
    const to = `/w/${stack.info.tenant_id}/deployments`;
    await page.goto(`http://localhost:${new URL(stack.info.base_url).port}/console${to}`);
    await page.getByRole("link", { name: `Sign in with ${new URL(oidc.issuer).host}` }).click();
    await work(page, context);
  } finally {
    await browser.close();
  }
}

browserTest(
  "a member signs in to the console with the issuer, for as long as they are one",
  async () => {
    const { id } = await addMember("linus", "viewer");
    await withSignInPage("linus", async (page, context) => {
      await page.getByRole("heading", { name: "Deployments", exact: true }).waitFor();
      expect(page.url()).toContain(`/console/w/${stack.info.tenant_id}/deployments`);
      const names = (await context.cookies()).map(({ name }) => name);
      expect(names.filter((name) => name.startsWith("__Host-heddle"))).toEqual(["__Host-heddle"]);
      expect((await admin("DELETE", `${MEMBERS}/${id}`)).status).toBe(200);
      await page.reload();
      await page.getByRole("link", { name: /^Sign in with/ }).click();
      await page.getByText(/a member of no workspace/).waitFor();
    });
  },
);

browserTest("the menu of the workspace leads to the other regions", async () => {
  await addMember("barbara", "viewer");
  await withSignInPage("barbara", async (page) => {
    await page.getByRole("button", { name: /^Workspace/ }).click();
    const region = (name: string) => page.getByRole("link", { name: `Region ${name}` });
    expect(await region("here").getAttribute("aria-current")).toBe("true");
    expect(await region("eu").getAttribute("href")).toBe("https://eu.heddle.example.com/console/");
    await region("eu").getByText("signs in again").waitFor();
    expect(await region("eu").getAttribute("aria-current")).toBeNull();
  });
});

browserTest("a person whom no admin added is led back with the reason", async () => {
  await withSignInPage("mallory", async (page) => {
    await page.getByRole("alert").filter({ hasText: "an admin must add" }).waitFor();
    expect(new URL(page.url()).searchParams.get("problem")).toBe("unknown_user");
  });
});

test("a return that this browser did not begin creates no session", async () => {
  const query = "code=stolen&state=another";
  const url = `${stack.info.base_url}/v1/session/issuer/callback?${query}`;
  const response = await fetch(url, { redirect: "manual" });
  expect(response.status).toBe(302);
  expect(response.headers.get("Location")).toBe("/console/login?problem=expired");
  expect(response.headers.get("Set-Cookie")).not.toContain("hds_");
});
