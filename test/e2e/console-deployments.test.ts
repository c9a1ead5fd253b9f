import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { startBrowser } from "../support/node/browser.ts";
import { type ConsolePage, consoleUrl, openConsole, violationsOf } from "./support/console.ts";
import { uniqueName } from "./support/deployments.ts";
import { request } from "./support/http.ts";
import { stack } from "./support/stack.ts";

const NAME = uniqueName("console");
const HOSTILE = '<img src=x onerror="document.title=1"> \u202Eright to left\u202C {{7*7}} '.padEnd(
  200,
  "w",
);

/** Options of a closed select are in the document, but not visible. */
const HIDDEN = { state: "attached" } as const;

let browser: Browser;
let opened: ConsolePage;
let page: Page;
beforeAll(async () => {
  browser = await startBrowser();
  opened = await openConsole(browser);
  page = opened.page;
});
afterAll(() => browser?.close());

async function fillForm(name: string, ref: string) {
  await page.goto(consoleUrl("/deployments/new"));
  await page.getByLabel("Repository URL").fill(`${stack.git.url}/examples/chat.git`);
  await page.getByRole("button", { name: "Deploy the example" }).waitFor();
  const named = page.getByLabel("Name", { exact: true });
  expect(await named.inputValue()).toBe("chat");
  await named.fill(name);
  await page.getByLabel("Branch, tag or commit").fill(ref);
  await page.getByRole("button", { name: "Create and build" }).click();
  await page.waitForURL(/deployments\/[0-9a-f-]{36}/);
}

const idOf = (url: string) => /deployments\/([0-9a-f-]{36})/.exec(url)?.[1] ?? "";
const shown = (word: string) => page.locator("h2.mono ~ .badge", { hasText: word });

async function openDeployment(tab = "Revisions") {
  await page.goto(consoleUrl(`/deployments?q=${NAME}`));
  await page.getByRole("link", { name: NAME }).click();
  const tabs = page.getByRole("navigation", { name: "Deployment", exact: true });
  await tabs.getByRole("link", { name: tab }).click();
}

/** Ends the first stream after two events, as a proxy that restarts does. */
async function cutFirstStream(page: Page): Promise<(string | undefined)[]> {
  const connections: (string | undefined)[] = [];
  await page.route("**/stream", async (route) => {
    connections.push(route.request().headers()["last-event-id"]);
    if (connections.length > 1) return route.continue();
    const headers = { "X-Api-Key": stack.api_key };
    const whole = await (await fetch(route.request().url(), { headers })).text();
    const body = `${whole.split("\n\n").slice(0, 2).join("\n\n")}\n\n`;
    return route.fulfill({ contentType: "text/event-stream", body });
  });
  return connections;
}

test("a newcomer deploys a repository, watches its build and rolls back, without a terminal", async () => {
  await fillForm(NAME, "main");
  await page.getByRole("log", { name: "Build log" }).getByText("Fetched examples/chat").waitFor();
  await shown("Serving").waitFor();
  const steps = page.getByRole("region", { name: "Steps of the build" });
  await steps.locator(".done").nth(5).waitFor();
  expect(await steps.getByText(/^\d+ ms$|^[\d.]+ s$/).count()).toBe(6);
  await page.getByText("Example agent").first().waitFor();
  await page.getByText("in the console", { exact: true }).waitFor();
  const lines = await page.getByText(/^\d+ lines$/).textContent();
  const connections = await cutFirstStream(page);
  await page.reload();
  await page.getByText(lines ?? "").waitFor();
  expect(connections).toEqual([undefined, expect.stringMatching(/^\d+-/)]);
  await page.unrouteAll();

  await page.getByRole("button", { name: "Build again" }).click();
  await page.locator("a.rev").nth(1).waitFor();
  await page.locator("a.rev", { hasText: "Serving" }).first().waitFor();
  await page.locator("a.rev", { hasText: "Replaced" }).click();
  await page.getByRole("button", { name: "Roll back", exact: true }).click();
  await page.getByRole("button", { name: "Keep as it is" }).click();
  await page.getByRole("button", { name: "Roll back", exact: true }).click();
  await page.getByRole("button", { name: "Roll back now" }).click();
  await page.getByText(/^Rolled back to \w{7} #\d+ in /).waitFor();
  await shown("Serving").waitFor();
  const list = await opened.context.newPage();
  await list.goto(consoleUrl(`/deployments?q=${NAME}`));
  await list.getByRole("row", { name: NAME }).getByText("#2, replaced", { exact: true }).waitFor();
  await list.close();
  await page.locator("a.rev").nth(0).click();
  await page
    .getByText(/^A rollback replaced this revision: \w{7} #1, which is older, serves\.$/)
    .waitFor();
  await page.getByRole("button", { name: "Move forward again" }).click();
  await page.getByText(/^Moved forward in /).waitFor();
  await page.locator("a.rev").nth(0).filter({ hasText: "Serving" }).click();
  await page.getByRole("button", { name: /^Roll back to \w{7} #\d+$/ }).click();
  await page.getByRole("button", { name: "Roll back now" }).click();
  await page.locator("a.rev").nth(1).filter({ hasText: "Serving" }).click();
  await page.getByRole("button", { name: /^Promote \w{7} #\d+$/ }).click();
  await page.getByRole("button", { name: "Promote now" }).click();
  await page.getByText(/^Promoted \w{7} #\d+ in /).waitFor();
  expect(await violationsOf(page)).toEqual([]);
});

test("a revision that this Heddle does not run shows the remedy", async () => {
  const remedy = "This revision was built by a newer Heddle: create a new revision.";
  await page.route(/\/revisions(\?|$)/, async (route) => {
    const headers = { "X-Api-Key": stack.api_key };
    const answer = await (await fetch(route.request().url(), { headers })).json();
    const { resources, ...list } = answer as { resources: object[] };
    const refused = resources.map((each) => ({ ...each, status_message: remedy }));
    return route.fulfill({ json: { ...list, resources: refused } });
  });
  await page.reload();
  await page.getByRole("alert").getByText(remedy).waitFor();
  expect(await violationsOf(page)).toEqual([]);
  await page.unrouteAll({ behavior: "ignoreErrors" });
});

test("a failed build shows the reason first, its line of the log, and what users notice", async () => {
  const name = uniqueName("console-bad");
  await fillForm(name, "no-such-branch");
  const why = page.getByRole("region", { name: "Why it failed" });
  await why.getByText("ref_not_found").waitFor();
  await why.getByText("Line 1 of the build log").waitFor();
  await why.getByText("Nothing changed for users: no revision has served yet.").waitFor();
  await why.getByRole("link", { name: "Show in log" }).click();
  await page.waitForURL(/line=1/);
  expect(await violationsOf(page)).toEqual([]);

  await page.goto(consoleUrl(""));
  await page.getByRole("link", { name: `${name} did not build` }).click();
  await page.getByRole("heading", { name }).waitFor();
  const tabs = page.getByRole("navigation", { name: "Deployment", exact: true });
  await tabs.getByRole("link", { name: "Settings" }).click();
  await page.getByRole("button", { name: "Delete deployment" }).click();
  const dialog = page.getByRole("dialog");
  const act = dialog.getByRole("button", { name: "Delete deployment" });
  expect(await act.isDisabled()).toBe(true);
  await dialog.getByLabel(/Type/).fill(name);
  await act.click();
  await page.waitForURL(/deployments$/);
  await page.getByRole("link", { name, exact: true }).waitFor({ state: "detached" });
  await page.goto(consoleUrl("/traces"));
  const choice = page.getByRole("combobox", { name: "Project" });
  await choice.locator("optgroup[label='Deployments'] option", { hasText: NAME }).waitFor(HIDDEN);
  await choice.locator("optgroup").last().locator("option", { hasText: name }).waitFor(HIDDEN);
});

test("a branch is built as a preview, gets a share as a canary, and gives it back", async () => {
  await openDeployment();
  await page.getByRole("button", { name: "New", exact: true }).click();
  const dialog = page.getByRole("dialog");
  expect(await dialog.getByLabel("Branch, tag or commit").inputValue()).toBe("main");
  await dialog.getByRole("button", { name: "Build" }).click();
  await shown("Preview").waitFor();
  await page.getByRole("button", { name: "Start a canary" }).click();
  await dialog.getByRole("button", { name: "Start canary" }).click();
  const traffic = page.getByRole("region", { name: "Traffic" });
  await traffic.getByText("10%", { exact: true }).waitFor();
  expect(await page.getByRole("button", { name: "Start a canary" }).count()).toBe(0);
  await traffic.getByRole("button", { name: "End canary" }).click();
  await dialog.getByRole("button", { name: "End now" }).click();
  await traffic.waitFor({ state: "detached" });
  await shown("Preview").waitFor();
});

test("a secret is set, replaced and removed by its name", async () => {
  await openDeployment("Settings");
  const dialog = page.getByRole("dialog");
  const secrets = page.getByRole("list", { name: "Secrets" });
  const set = async (value: string) => {
    await dialog.getByLabel("Value").fill(value);
    await dialog.getByRole("button", { name: "Set secret" }).click();
    await dialog.waitFor({ state: "detached" });
  };
  for (const name of ["FIRST", "SECOND"]) {
    await page.getByRole("button", { name: "Add a secret" }).click();
    await dialog.getByLabel("Name").fill(name);
    await set("one");
    await secrets.getByText(name).waitFor();
  }
  await secrets.getByRole("button", { name: "Replace SECOND" }).click();
  await set("two");
  await secrets.getByRole("button", { name: "Remove FIRST" }).click();
  await dialog.getByRole("button", { name: "Remove secret" }).click();
  await secrets.getByText("FIRST").waitFor({ state: "detached" });
  await secrets.getByText("SECOND").waitFor();
  expect(await violationsOf(page)).toEqual([]);
  await openDeployment();
  await page
    .getByLabel(/^Changed since/)
    .getByText("FIRST", { exact: true })
    .waitFor();
});

test("a build on push needs an integration, which is chosen by its name", async () => {
  const made = await request<{ id: string }>("POST", "/v1/integrations/github/install", {
    ...{ name: uniqueName("host"), token: "t0ken", api_url: stack.git.url },
  });
  expect(made.status).toBe(201);
  await openDeployment("Settings");
  const id = idOf(page.url());
  const box = page.getByRole("checkbox", { name: "Build on push" });
  expect(await box.isDisabled()).toBe(true);
  await page.getByLabel("Integration", { exact: true }).selectOption(made.body.id);
  await box.check();
  await page.getByRole("button", { name: "Save" }).click();
  await page.getByText("Saved", { exact: true }).waitFor();
  const { body } = await request<{ source_config: object }>("GET", `/v2/deployments/${id}`);
  const integration_id = made.body.id;
  expect(body.source_config).toMatchObject({ integration_id, build_on_push: true });
});

test("a list of deployments reads none of them by itself", async () => {
  await page.goto("about:blank");
  const reads: string[] = [];
  page.on("request", (request) => reads.push(new URL(request.url()).pathname));
  for (const path of ["", "/deployments"]) {
    await page.goto(consoleUrl(path));
    await page
      .getByRole("table", { name: "Deployments" })
      .getByText(/^#\d+, serving$/)
      .first()
      .waitFor();
  }
  expect(reads.filter((path) => path === "/v2/deployments").length).toBeGreaterThan(1);
  expect(reads.filter((path) => path.startsWith("/v2/deployments/"))).toEqual([]);
});

test("text of users is shown as text, and a viewer changes nothing", async () => {
  await page.goto(consoleUrl(`/deployments?q=${NAME}`));
  await page.getByRole("link", { name: NAME }).click();
  await page.waitForURL(/[0-9a-f-]{36}$/);
  const id = idOf(page.url());
  const patched = await request("PATCH", `/v2/deployments/${id}`, { display_name: HOSTILE.trim() });
  expect(patched.status).toBe(200);
  await page.getByRole("heading", { name: "<img src=x" }).waitFor();
  expect(await page.locator("main img").count()).toBe(0);
  expect(await page.evaluate("document.documentElement.scrollWidth - innerWidth")).toBe(0);
  expect(opened.problems).toEqual([]);
  expect(opened.strangers).toEqual([]);

  const { body } = await request<{ key: string }>("POST", "/api/v1/api-key", { role: "viewer" });
  const viewer = await openConsole(browser, `/deployments/${id}`, { key: body.key, width: 390 });
  await viewer.page.locator("h2.mono").waitFor();
  for (const name of ["Build again", "Roll back", "Promote", "New", "Start a canary"]) {
    expect(await viewer.page.getByRole("button", { name, exact: true }).count()).toBe(0);
  }
  await viewer.page.getByRole("link", { name: "Settings", exact: true }).click();
  const box = viewer.page.getByRole("checkbox", { name: "Build on push" });
  await box.waitFor();
  expect(await box.isDisabled()).toBe(true);
  expect(await viewer.page.getByRole("button", { name: "Add a secret" }).count()).toBe(0);
  expect(await viewer.page.getByRole("button", { name: "Delete deployment" }).count()).toBe(0);
});
