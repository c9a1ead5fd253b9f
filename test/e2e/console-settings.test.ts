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
  await entries.getByRole("link", { name: "createApiKey" }).first().waitFor({ state: "detached" });
  await entries.getByRole("link", { name: "revokeApiKey" }).first().waitFor();
});

test("members and connections are added, and what is secret is not in the page", async () => {
  const email = `${uniqueName("ada")}@acme.test`;
  await page.goto(consoleUrl("/settings/members"));
  await page.getByRole("button", { name: "Add member" }).click();
  await page.getByLabel("Email address").fill(email);
  await page.getByRole("dialog").getByRole("button", { name: "Add member" }).click();
  const row = page.getByRole("row", { name: new RegExp(email) });
  await row.getByText("not accepted yet").waitFor();
  await row.getByRole("combobox").selectOption("editor");
  await row.getByRole("button", { name: "Apply" }).click();
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

test("an OAuth provider is created and edited, and its secret stays", async () => {
  const provider_id = uniqueName("console-oauth");
  await page.goto(consoleUrl("/connections"));
  await page.getByRole("button", { name: "New provider" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel("Name").fill(provider_id);
  await dialog.getByLabel("Id", { exact: true }).fill(provider_id);
  await dialog.getByLabel("Client id").fill("client-1");
  await dialog.getByLabel(/^Client secret/).fill(TOKEN);
  await dialog.getByLabel("Authorization URL").fill("https://issuer.example/authorize");
  await dialog.getByLabel("Token URL").fill("https://issuer.example/token");
  await dialog.getByRole("button", { name: "Create provider" }).click();
  await page.getByRole("button", { name: `Edit ${provider_id}` }).click();
  expect(await dialog.getByLabel(/^New client secret/).inputValue()).toBe("");
  expect(await violationsOf(page)).toEqual([]);
  await dialog.getByLabel("Client id").fill("client-2");
  await dialog.getByRole("button", { name: "Save provider" }).click();
  await page.getByText(`Saved ${provider_id}`).waitFor();
  const { body } = await request("GET", `/v2/auth/providers/${provider_id}`);
  expect(body).toMatchObject({
    client_id: "client-2",
    token_endpoint_auth_method: "client_secret_post",
    uses_pkce: true,
  });
});

test("a cron is created, edited, run, paused and enabled, and its firings are listed", async () => {
  await page.goto(consoleUrl(`/crons?deployment=${agent}`));
  await page.getByRole("heading", { name: "No crons" }).waitFor();
  await page.getByRole("button", { name: "New cron" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel("Assistant").selectOption({ label: "steps" });
  await dialog.getByLabel("Schedule").fill("0 9 * *");
  await dialog.getByText(/must have five fields .*it has 4/).waitFor();
  await dialog.getByLabel("Schedule").fill("0 9 1 1 *");
  await dialog.getByLabel("Time zone").fill("Europe/Nowhere");
  await dialog.getByText("“Europe/Nowhere” is not an IANA time zone").waitFor();
  await dialog.getByLabel("Time zone").fill("Europe/Berlin");
  const next = dialog.getByRole("status", { name: "Next runs" }).getByRole("listitem");
  await next
    .filter({ hasText: /1 Jan \d+.*09:00 CET/ })
    .nth(2)
    .waitFor();
  expect(await violationsOf(page)).toEqual([]);
  await dialog.getByLabel("Input, as JSON").fill("{delay");
  await dialog.getByRole("button", { name: "Create cron" }).click();
  await dialog.getByText(/^Not JSON/).waitFor();
  await dialog.getByLabel("Input, as JSON").fill('{"delay_ms": 1}');
  await dialog.getByRole("button", { name: "Create cron" }).click();
  await page.getByText("It has not fired yet.").waitFor();
  await page.getByRole("button", { name: "Edit" }).click();
  await dialog.getByLabel("Schedule").fill("0 9 * * *");
  await dialog.getByLabel(/^Ends/).fill("2099-12-31T00:00");
  await dialog.getByRole("button", { name: "Save cron" }).click();
  await page.getByRole("link", { name: "0 9 * * *" }).waitFor();
  const [cron] = await client(agent).crons.search({ limit: 10 });
  expect(cron).toMatchObject({
    schedule: "0 9 * * *",
    timezone: "Europe/Berlin",
    end_time: expect.stringMatching(/^2099-12-31T00:00/),
    payload: { input: { delay_ms: 1 } },
  });
  await page.getByRole("button", { name: "Run now" }).click();
  const firings = page.getByRole("list", { name: "Last firings" });
  await firings.getByText("by hand").waitFor();
  await firings.getByText("Ended", { exact: true }).waitFor();
  const row = page.getByRole("row", { name: /0 9 \* \* \*/ });
  await row.getByText("steps", { exact: true }).waitFor();
  await row.getByText('{"delay_ms":1}').waitFor();
  await page.getByRole("button", { name: "Pause", exact: true }).click();
  await page.getByText("none while paused").first().waitFor();
  await page.getByRole("button", { name: "Enable" }).click();
  await page.getByRole("time").first().waitFor();
  await page.getByRole("button", { name: "Pause", exact: true }).waitFor();
  await firings.getByRole("link", { name: "Thread" }).click();
  await page.getByRole("region", { name: "Runs" }).getByText("Ended").waitFor();
});

test("an assistant is created, edited, put back to a former version and deleted", async () => {
  const { assistants } = client(agent);
  await page.goto(consoleUrl(`/assistants?deployment=${agent}`));
  await page.getByRole("button", { name: "New assistant" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel("Graph").selectOption("steps");
  await dialog.getByLabel("Name").fill(HOSTILE);
  await dialog.getByLabel("Description").fill("The first");
  await dialog.getByLabel("Config, as JSON").fill("[]");
  await dialog.getByRole("button", { name: "Create assistant" }).click();
  await dialog.getByText("Not an object: put the value in { }.").waitFor();
  expect(await violationsOf(page)).toEqual([]);
  await dialog.getByLabel("Config, as JSON").fill('{"tags": ["first"]}');
  await dialog.getByRole("button", { name: "Create assistant" }).click();
  await page.waitForURL(/assistant=/);
  const assistant_id = new URL(page.url()).searchParams.get("assistant") ?? "";
  await page.getByRole("button", { name: "Edit" }).click();
  await dialog.getByLabel("Config, as JSON").fill('{"tags": ["second"]}');
  await dialog.getByLabel("Description").fill("");
  await dialog.getByRole("button", { name: "Save version" }).click();
  const versions = page.getByRole("list", { name: "Versions" });
  await versions.getByRole("listitem").nth(1).waitFor();
  await versions.getByRole("listitem").first().getByText("In use").waitFor();
  await page.getByText("second").first().waitFor();
  expect((await assistants.get(assistant_id)).description).toBe("");
  await page.getByRole("button", { name: "Use this version" }).click();
  await page.getByRole("button", { name: "Use version 1" }).click();
  await versions.getByRole("listitem").nth(1).getByText("In use").waitFor();
  expect(await assistants.get(assistant_id)).toMatchObject({
    version: 1,
    graph_id: "steps",
    config: { tags: ["first"] },
  });
  await page.getByRole("button", { name: "Delete assistant" }).click();
  await dialog.getByRole("button", { name: "Delete assistant" }).click();
  await page.getByRole("link", { name: "<img src=x" }).waitFor({ state: "detached" });
  // The page has the first fifty by name.
  await page.goto(consoleUrl(`/assistants?deployment=${agent}&q=steps`));
  await page.getByRole("link", { name: "steps" }).first().click();
  await page.getByRole("button", { name: "Edit" }).waitFor();
  expect(await page.getByRole("button", { name: "Delete assistant" }).count()).toBe(0);
});

test("an item of the store is changed and deleted", async () => {
  const { store } = client(agent);
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
  const kinds = viewer.page.getByRole("navigation", { name: "Kind of the deliveries" });
  const held = Promise.withResolvers<void>();
  await viewer.page.route(/deliveries\?.*kind=trace/, async (route) => {
    await held.promise;
    await route.continue();
  });
  await kinds.getByRole("link", { name: "Traces" }).click();
  await viewer.page.getByText(webhook).waitFor({ state: "detached" });
  const answered = viewer.page.waitForResponse(/deliveries\?.*kind=trace/);
  held.resolve();
  await answered;
  expect(await viewer.page.getByText(webhook).count()).toBe(0);
  for (const path of ["crons", "assistants", "connections"]) {
    await viewer.page.goto(consoleUrl(`/${path}?deployment=${agent}`));
    await viewer.page.locator("#main table").first().waitFor();
    expect(await viewer.page.getByRole("button", { name: /^(New|Edit|Delete) / }).count()).toBe(0);
  }
  await viewer.page.goto(consoleUrl("/settings/webhooks"));
  await viewer.page.getByRole("link", { name: "Keys" }).click();
  await viewer.page.getByText("Service keys are for admins").waitFor();
  await viewer.context.close();
  await delivery.getByRole("button", { name: "Resend" }).click();
  await delivery.getByText("2 attempts,").waitFor();
  await delivery.locator("summary").click();
  await delivery.getByText("The receiver returned 410.").first().waitFor();
  expect([opened.problems, opened.strangers]).toEqual([[], []]);
});

test("a session whose key is revoked returns to the sign-in, and then to the same page", async () => {
  const { body } = await request<{ id: string; key: string }>("POST", "/api/v1/api-key", {
    role: "editor",
  });
  const editor = await openConsole(browser, "/store?ns=users", { key: body.key });
  await request("DELETE", `/api/v1/api-key/${body.id}`);
  await editor.page.getByText("Sign in to continue where you were.").waitFor();
  await editor.page.getByLabel("API key").fill(stack.api_key);
  await editor.page.getByRole("button", { name: "Sign in" }).click();
  await editor.page.getByRole("heading", { name: "Store" }).waitFor();
  expect(editor.page.url()).toContain("ns=users");
  await editor.context.close();
});
