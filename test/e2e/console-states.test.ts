import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, expect } from "vitest";
import { startBrowser } from "../support/node/browser.ts";
import { browserTest as test } from "../support/node/browser-test.ts";
import { type ConsolePage, openConsole } from "./support/console.ts";
import { stack } from "./support/stack.ts";
import { createWorkspace } from "./support/workspaces.ts";

const UNKNOWN = "00000000-0000-4000-8000-000000000000";
const REASON = "The database is being moved";
/** Requests for the data of a page. Those for the session and its user are not among them. */
const DATA = /\/(api\/v[12]|v2|agents|v1\/(?!me\b|session\b)[^/?]+)\b/;

/** Each list, with a heading or a text that a workspace without anything shows. */
const LISTS: Record<string, RegExp> = {
  "": /Nothing is deployed yet/,
  "/deployments": /No deployments yet/,
  "/playground": /No (agent|deployment) serves yet/,
  "/threads": /No (agent|deployment) serves yet/,
  "/assistants": /No (agent|deployment) serves yet/,
  "/crons": /No (agent|deployment) serves yet/,
  "/store": /No (agent|deployment) serves yet/,
  "/traces": /No traces yet/,
  "/monitor": /No traces yet/,
  "/monitor/alerts": /No alerts/,
  "/exports": /No exports yet/,
  "/connections": /No integrations/,
  "/settings/webhooks": /No deliver/,
  "/settings/retention": /No projects yet/,
};

const DETAILS = [
  `/deployments/${UNKNOWN}`,
  `/threads/${UNKNOWN}/${UNKNOWN}`,
  `/traces/${UNKNOWN}`,
  `/traces/compare?a=${UNKNOWN}&b=${UNKNOWN}`,
  `/exports/${UNKNOWN}`,
  "/exports/new",
  "/settings/members",
  "/settings/keys",
  "/settings/usage",
  "/settings/audit-log",
];

let browser: Browser;
let opened: ConsolePage;
let page: Page;
let tenant_id: string;
beforeAll(async () => {
  const headers = await createWorkspace();
  tenant_id = headers["x-tenant-id"] ?? "";
  browser = await startBrowser();
  opened = await openConsole(browser, "", { key: headers["x-api-key"] ?? "" });
  page = opened.page;
});
afterAll(() => browser?.close());

const urlOf = (path: string) => `${stack.base_url}/console/w/${tenant_id}${path}`;

test("each list of a new workspace names what will appear in it", async () => {
  for (const [path, text] of Object.entries(LISTS)) {
    await page.goto(urlOf(path));
    await page.locator("#main").getByText(text).first().waitFor();
  }
  expect(opened.problems).toEqual([]);
});

test("each page whose data is refused shows the reason in its place, and reads it again", async () => {
  await page.route(DATA, (route) =>
    route.fulfill({ status: 400, json: { detail: REASON, code: "bad_request" } }),
  );
  for (const path of [...Object.keys(LISTS), ...DETAILS]) {
    await page.goto(urlOf(path));
    const failure = page.locator("#main [role=alert]").filter({ hasText: REASON });
    const isShown = failure.first().waitFor();
    expect([path, await isShown.then(() => true, String)]).toEqual([path, true]);
  }
  await page.goto(urlOf("/deployments"));
  await page.getByText("The deployments could not be read.").waitFor();
  await page.unrouteAll();
  await page.getByRole("button", { name: "Try again" }).click();
  await page.getByText("No deployments yet").waitFor();
  expect(opened.problems).toEqual([]);
});

test("a deployment beyond the list that could not be read is read again, and then named as missing", async () => {
  await page.route(`**/v2/deployments/${UNKNOWN}`, (route) =>
    route.fulfill({ status: 503, json: { detail: REASON, code: "unavailable" } }),
  );
  for (const path of ["/threads", "/playground", "/crons"]) {
    await page.goto(urlOf(`${path}?deployment=${UNKNOWN}`));
    await page.getByText("The deployments could not be read.").waitFor();
  }
  await page.goto(urlOf(`/threads?deployment=${UNKNOWN}`));
  await page.getByText("The deployments could not be read.").waitFor();
  await page.unrouteAll();
  await page.getByRole("button", { name: "Try again" }).click();
  await page.getByText("This deployment serves nothing").waitFor();
  expect(opened.problems).toEqual([]);
});
