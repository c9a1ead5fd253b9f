// Links of strangers: opening one acts on nothing, and sends no request that a page of the console would not send itself.
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, expect } from "vitest";
import { startBrowser } from "../support/node/browser.ts";
import { browserTest as test } from "../support/node/browser-test.ts";
import { type ConsolePage, consoleUrl, openConsole } from "./support/console.ts";
import { deploy } from "./support/deployments.ts";
import { request } from "./support/http.ts";
import { stack } from "./support/stack.ts";

const AGENT = {
  "langgraph.json": JSON.stringify({ graphs: { agent: "./agent.ts:agent" } }),
  "agent.ts": "export async function agent() { return { messages: [] }; }\n",
};
const NO_PAGE = "No such page";

let browser: Browser;
let opened: ConsolePage;
let deployment: string;
let key: { id: string; key: string };
beforeAll(async () => {
  browser = await startBrowser();
  deployment = (await deploy("linked", AGENT)).id;
  key = (await request<typeof key>("POST", "/api/v1/api-key", { role: "admin" })).body;
  opened = await openConsole(browser);
});
afterAll(() => browser?.close());

type Sent = { method: string; path: string };

/** Opens an address, and returns the requests to the API until the page shows the text. */
async function requestsOf(address: string, text: string): Promise<Sent[]> {
  const page = await opened.context.newPage();
  const sent: Sent[] = [];
  page.on("request", (each) => {
    const { pathname } = new URL(each.url());
    if (!pathname.startsWith("/console")) sent.push({ method: each.method(), path: pathname });
  });
  await page.goto(address);
  await page.getByText(text).first().waitFor();
  await page.waitForLoadState("networkidle");
  await page.close();
  return sent;
}

test.each([
  ["rotates a key", () => `x/../../../api/v1/api-key/${key.id}/rotate?`],
  ["creates a key", () => "x/../../../api/v1/api-key?"],
  ["creates a revision", () => `x/../../../v2/deployments/${deployment}/revisions?`],
])("no link to the playground %s", async (_act, revision) => {
  const before = await request<{ resources: unknown[] }>(
    "GET",
    `/v2/deployments/${deployment}/revisions`,
  );
  const query = new URLSearchParams({ deployment, revision: revision() });
  const sent = await requestsOf(consoleUrl(`/playground?${query}`), "Talk to agent");
  expect(sent.filter(({ path }) => !/^\/(v1\/me|v2\/deployments|agents\/)/.test(path))).toEqual([]);
  const posts = sent.filter(({ method }) => method !== "GET").map(({ path }) => path);
  expect(posts.every((path) => path === `/agents/${deployment}/assistants/search`)).toBe(true);
  const mine = { "x-api-key": key.key };
  expect((await request("GET", "/v1/me", undefined, mine)).status).toBe(200);
  const after = await request<{ resources: unknown[] }>(
    "GET",
    `/v2/deployments/${deployment}/revisions`,
  );
  expect(after.body.resources).toHaveLength(before.body.resources.length);
});

const HOSTILE = [
  "../../agents/x/y?",
  "..\\..\\api\\v1\\api-key",
  "//evil.example",
  "%2e%2e%2fapi",
  "x;/../../v1/me",
  "01a217a3-6601-70b8-8691-976295be5f3f/../../..",
];

test.each(["/deployments/", "/traces/", "/exports/", `/threads/${"0".repeat(8)}/`])(
  "an address below %s with a hostile id is not found, and reads nothing",
  async (route) => {
    for (const text of HOSTILE) {
      const sent = await requestsOf(consoleUrl(route + encodeURIComponent(text)), NO_PAGE);
      expect(sent.filter(({ path }) => path !== "/v1/me")).toEqual([]);
    }
    expect(opened.strangers).toEqual([]);
  },
);

test("an address with a hostile workspace is not found, and reads nothing", async () => {
  const address = `${stack.base_url}/console/w/${encodeURIComponent("../../api")}/deployments`;
  expect(await requestsOf(address, NO_PAGE)).toEqual([]);
});
