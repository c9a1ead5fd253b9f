import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, expect, inject } from "vitest";
import { startBrowser } from "../support/node/browser.ts";
import { browserTest as test } from "../support/node/browser-test.ts";
import { client } from "./support/clients.ts";
import { type ConsolePage, consoleUrl, openConsole, violationsOf } from "./support/console.ts";
import { uniqueName } from "./support/deployments.ts";
import { request } from "./support/http.ts";
import { stack } from "./support/stack.ts";
import { deployTestAgent } from "./support/test-agent.ts";

const HOSTILE = '<img src=x onerror="document.title=1"> \u202Eleft';
const TOKEN = `token-${crypto.randomUUID()}`;

let browser: Browser;
let opened: ConsolePage;
let page: Page;
let agent: string;
beforeAll(async () => {
  [browser, agent] = await Promise.all([startBrowser(), deployTestAgent()]);
  opened = await openConsole(browser);
  page = opened.page;
});
afterAll(() => browser?.close());

test("a key is shown once, is listed without its secret, and is revoked with its name typed", async () => {
  const name = uniqueName("console-key");
  await page.goto(consoleUrl("/settings/keys"));
  await page.getByRole("button", { name: "New key" }).click();
  await page.getByLabel("Name").fill(name);
  await page.getByLabel("Role").selectOption("viewer");
  await page.getByRole("button", { name: "Create key" }).click();
  const once = page.getByRole("region", { name: `Key “${name}” is created.` });
  const secret = (await once.locator("code").textContent()) ?? "";
  const headers = { "x-api-key": secret };
  expect((await request("GET", "/v2/deployments", undefined, headers)).status).toBe(200);
  await page.reload();
  const row = page.getByRole("row", { name: new RegExp(name) });
  await row.waitFor();
  expect(await page.content()).not.toContain(secret);
  await row.getByRole("button", { name: "Revoke" }).click();
  const dialog = page.getByRole("dialog");
  expect(await dialog.getByRole("button", { name: "Revoke key" }).isDisabled()).toBe(true);
  await dialog.getByLabel(/Type/).fill(name);
  await dialog.getByRole("button", { name: "Revoke key" }).click();
  await row.waitFor({ state: "detached" });

  await page.getByRole("link", { name: "Audit log" }).click();
  await page.getByLabel("Action").fill("revokeApiKey");
  await page.getByRole("button", { name: "Filter" }).click();
  await page.waitForURL(/action=revokeApiKey/);
  const entries = page.getByRole("table", { name: "Audit log" });
  await entries.getByRole("link", { name: "revokeApiKey" }).first().waitFor();
  expect(await entries.getByRole("link", { name: "createApiKey" }).count()).toBe(0);
});

test("members and connections are added, and what is secret is not in the page", async () => {
  const email = `${uniqueName("ada")}@acme.test`;
  await page.goto(consoleUrl("/settings/members"));
  await page.getByRole("button", { name: "Add member" }).click();
  await page.getByLabel("Email address").fill(email);
  await page.getByRole("dialog").getByRole("button", { name: "Add member" }).click();
  const row = page.getByRole("row", { name: new RegExp(email) });
  await row.getByText("not signed in yet").waitFor();
  await row.getByRole("combobox").selectOption("editor");
  await page.getByText(`${email} is editor`).waitFor();
  await row.getByRole("button", { name: "Remove" }).click();
  await page.getByRole("button", { name: "Remove member" }).click();
  await row.waitFor({ state: "detached" });

  await page.goto(consoleUrl("/connections"));
  await page.getByRole("button", { name: "New integration" }).click();
  await page.getByLabel("Name").fill(HOSTILE);
  await page.getByLabel("Access token").fill(TOKEN);
  await page.getByRole("button", { name: "Create integration" }).click();
  const integration = page.getByRole("list", { name: "Integrations" }).getByText("<img src=x");
  await integration.first().waitFor();
  await page.reload();
  await integration.first().waitFor();
  expect(await page.content()).not.toContain(TOKEN);
  expect(await page.locator("main img").count()).toBe(0);
});

test("a cron is run, paused and enabled, and its firings are listed", async () => {
  await client(agent).crons.create("steps", { schedule: "0 9 * * *", input: { delay_ms: 1 } });
  await page.goto(consoleUrl(`/crons?deployment=${agent}`));
  await page.getByRole("link", { name: "0 9 * * *" }).click();
  await page.getByText("It has not fired yet.").waitFor();
  await page.getByRole("button", { name: "Run now" }).click();
  const firings = page.getByRole("list", { name: "Last firings" });
  await firings.getByText("by hand").waitFor();
  await firings.getByText("Started").waitFor();
  await page.getByRole("button", { name: "Pause", exact: true }).click();
  await page.getByText("none while paused").first().waitFor();
  await page.getByRole("button", { name: "Enable" }).click();
  await page.getByRole("time").first().waitFor();
  await page.getByRole("button", { name: "Pause", exact: true }).waitFor();
});

test("an assistant goes back to a former version, and an item of the store is changed", async () => {
  const { assistants, store } = client(agent);
  const { assistant_id } = await assistants.create({ graphId: "steps", name: HOSTILE });
  await assistants.update(assistant_id, { config: { tags: ["second"] } });
  await page.goto(consoleUrl(`/assistants?deployment=${agent}&assistant=${assistant_id}`));
  const versions = page.getByRole("list", { name: "Versions" });
  await versions.getByRole("listitem").first().getByText("In use").waitFor();
  await page.getByText("second").first().waitFor();
  await page.getByRole("button", { name: "Use this version" }).click();
  await page.getByRole("button", { name: "Use version 1" }).click();
  await versions.getByRole("listitem").nth(1).getByText("In use").waitFor();
  expect((await assistants.get(assistant_id)).version).toBe(1);

  await store.putItem(["users", "ada"], "likes", { food: HOSTILE });
  await page.goto(consoleUrl(`/store?deployment=${agent}&ns=users.ada`));
  await page.getByRole("link", { name: "likes" }).click();
  await page.getByRole("button", { name: "Edit" }).click();
  const field = page.getByLabel("Value, a JSON object");
  await field.fill("{");
  await page.getByRole("button", { name: "Save item" }).click();
  await page.getByText(/^Not JSON/).waitFor();
  await field.fill('{"food": "pizza"}');
  await page.getByRole("button", { name: "Save item" }).click();
  await page.getByText("Saved likes").waitFor();
  expect((await store.getItem(["users", "ada"], "likes"))?.value).toEqual({ food: "pizza" });
  await page.getByRole("button", { name: "Delete item" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Delete item" }).click();
  await page.getByRole("link", { name: "likes" }).waitFor({ state: "detached" });
  expect(await page.locator("main img").count()).toBe(0);
});

test("a webhook that failed is sent again from its delivery, and a viewer cannot", async () => {
  const webhook = `${inject("receiver_url")}/gone/${crypto.randomUUID()}`;
  await client(agent).runs.wait(null, "steps", { input: {}, webhook });
  await page.goto(consoleUrl("/settings/webhooks?status=failed"));
  const delivery = page.getByRole("listitem").filter({ hasText: webhook });
  await delivery.getByText("1 attempt,").waitFor();
  const { body } = await request<{ key: string }>("POST", "/api/v1/api-key", { role: "viewer" });
  const viewer = await openConsole(browser, "/settings/webhooks", { key: body.key });
  await viewer.page.getByText(webhook).waitFor();
  expect(await viewer.page.getByRole("button", { name: "Resend" }).count()).toBe(0);
  expect(await viewer.page.getByRole("button", { name: "Create secret" }).count()).toBe(0);
  await viewer.page.getByRole("link", { name: "Keys" }).click();
  await viewer.page.getByText("Service keys are for admins").waitFor();
  await viewer.context.close();
  await delivery.getByRole("button", { name: "Resend" }).click();
  await delivery.getByText("2 attempts,").waitFor();
  await delivery.locator("summary").click();
  await delivery.getByText("The receiver returned 410.").first().waitFor();
  expect([opened.problems, opened.strangers]).toEqual([[], []]);
});

const PATHS = [
  ...["/exports", "/exports/new", "/exports/destinations/new", "/connections"],
  ...["/crons", "/assistants", "/store"],
  ...["general", "members", "keys", "webhooks", "audit-log"].map((name) => `/settings/${name}`),
];

test.each([
  ["light", 1280, 0],
  ["dark", 390, 1],
] as const)("axe finds nothing in %s at %d pixels", async (scheme, width, part) => {
  const themed = await openConsole(browser, "", { scheme, width });
  for (const path of PATHS.filter((_, index) => index % 2 === part)) {
    await themed.page.goto(consoleUrl(path));
    await themed.page.locator("h1").first().waitFor();
    await themed.page.locator("#main .sk").first().waitFor({ state: "detached" });
    expect([path, await violationsOf(themed.page)]).toEqual([path, []]);
    const overflow = "document.documentElement.scrollWidth - innerWidth";
    expect([path, await themed.page.evaluate(overflow)]).toEqual([path, 0]);
  }
  expect([themed.problems, themed.strangers]).toEqual([[], []]);
  await themed.context.close();
});

test("a session whose key is revoked returns to the sign-in, and then to the same page", async () => {
  const { body } = await request<{ id: string; key: string }>("POST", "/api/v1/api-key", {
    role: "editor",
  });
  const editor = await openConsole(browser, "/store?ns=users", { key: body.key });
  await request("DELETE", `/api/v1/api-key/${body.id}`);
  await editor.page.getByText("Sign in to continue where you were.").waitFor({ timeout: 30_000 });
  await editor.page.getByLabel("API key").fill(stack.api_key);
  await editor.page.getByRole("button", { name: "Sign in" }).click();
  await editor.page.getByRole("heading", { name: "Store" }).waitFor();
  expect(editor.page.url()).toContain("ns=users");
  await editor.context.close();
});
