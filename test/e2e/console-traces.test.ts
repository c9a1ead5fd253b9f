import { mkdir } from "node:fs/promises";
import type { Browser, Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { startBrowser } from "../support/node/browser.ts";
import { type SpanSeed, sendSpans, toWireSpans } from "../support/node/trace-spans.ts";
import { type ConsolePage, consoleUrl, openConsole, violationsOf } from "./support/console.ts";
import { request } from "./support/http.ts";

const PROJECT = `console-${crypto.randomUUID().slice(0, 8)}`;
const PATIENCE_MS = 15_000;

let browser: Browser;
let opened: ConsolePage;
let page: Page;
let project_id: string;
beforeAll(async () => {
  browser = await startBrowser();
  const created = await request<{ id: string }>("POST", "/api/v1/sessions", { name: PROJECT });
  project_id = created.body.id;
  opened = await openConsole(browser);
  page = opened.page;
  page.setDefaultTimeout(PATIENCE_MS);
});
afterEach(async ({ task }) => {
  if (task.result?.state === "fail") await shoot(page, `failed-${task.name.slice(0, 30)}`);
});
afterAll(async () => {
  expect(opened.problems).toEqual([]);
  expect(opened.strangers).toEqual([]);
  await browser?.close();
});

/** @returns the id of the trace */
async function send(seeds: SpanSeed[], started_at = new Date(Date.now() - 60_000)) {
  const spans = toWireSpans(PROJECT, started_at, seeds);
  await sendSpans((path, body) => request("POST", path, body), spans);
  return spans;
}

const traces = (query = "") => consoleUrl(`/traces?project=${project_id}${query}`);
const rows = () => page.getByRole("table", { name: "Traces" }).locator("tbody tr:not(.spacer)");
const spanNamed = (name: string) => page.getByRole("treeitem").filter({ hasText: name });

const RESEARCH: SpanSeed[] = [
  {
    name: "research",
    start: 0,
    end: 46_000,
    more: {
      error: "TooManyRequests: quota of 60 requests a minute is used up\n  at search.ts:41",
      tags: ["market", "canary"],
      inputs: { messages: [{ role: "user", content: "Compare heat pump subsidies" }] },
      extra: { metadata: { revision_id: "r-1" } },
    },
  },
  { name: "plan", parent: 0, start: 10, end: 2400 },
  {
    name: "gpt-plan",
    run_type: "llm",
    parent: 1,
    start: 20,
    end: 2300,
    more: {
      outputs: {
        text: "search",
        usage_metadata: { input_tokens: 900, output_tokens: 280, total_tokens: 1180 },
      },
    },
  },
  { name: "gather", parent: 0, start: 2500, end: 46_000 },
  { name: "notes_store", run_type: "retriever", parent: 3, start: 2500, end: 2810 },
  {
    name: "web_search",
    run_type: "tool",
    parent: 3,
    start: 36_000,
    end: 45_900,
    more: {
      error: "TooManyRequests: search.example answered 429\n  at call (search.ts:41:13)",
      inputs: { query: "grid storage price", max_results: 8, site: null },
    },
  },
];

test("an empty project names what will appear, and the newest run appears by itself", async () => {
  await page.goto(traces());
  await page.getByRole("heading", { name: "No traces in this time" }).waitFor();
  const started_at = new Date(Date.now() - 5000);
  const [root] = await send([{ name: "first run", start: 0 }], started_at);
  await rows().filter({ hasText: "first run" }).getByText("so far").waitFor();
  await request("PATCH", `/runs/${root?.id}`, {
    end_time: new Date().toISOString(),
    trace_id: root?.id,
    dotted_order: root?.dotted_order,
  });
  await rows().filter({ hasText: "so far" }).waitFor({ state: "detached" });
});

test("the arrow keys choose a time in the histogram, and two runs are compared", async () => {
  await send(RESEARCH);
  await page.goto(traces("&range=1h"));
  const histogram = page.getByRole("group", { name: /^Runs by time/ });
  await histogram.focus();
  await page.keyboard.press("ArrowRight");
  await page.waitForURL(/from=/);
  await page.keyboard.press("Escape");
  await page.waitForURL((url) => !url.search.includes("from="));
  await rows().nth(1).getByRole("button", { name: "Compare" }).click();
  await rows().nth(0).getByRole("button", { name: "With this" }).click();
  await page.getByRole("table", { name: "Figures of both runs" }).waitFor();
  await page.getByRole("region", { name: "Run A" }).waitFor();
  await page.getByRole("region", { name: "Run B" }).waitFor();
});

test("spans appear while a trace runs", async () => {
  const seeds: SpanSeed[] = [
    { name: "long", start: 0 },
    { name: "early", parent: 0, start: 1, end: 5 },
    { name: "late", parent: 0, start: 6, end: 9 },
  ];
  const spans = toWireSpans(PROJECT, new Date(Date.now() - 1000), seeds);
  const post = (path: string, body: unknown) => request("POST", path, body);
  await sendSpans(post, spans.slice(0, 2));
  await page.goto(consoleUrl(`/traces/${spans[0]?.id}`));
  await spanNamed("early").waitFor();
  await sendSpans(post, spans.slice(2));
  await spanNamed("late").waitFor();
  await page.getByText("Live", { exact: true }).waitFor();
});

test("a point of the monitor leads to the runs behind it", async () => {
  await page.goto(consoleUrl(`/monitor?project=${project_id}&range=1h&group=name`));
  const chart = page.getByRole("group", { name: /^Error rate/ });
  await chart.waitFor();
  await page.getByRole("button", { name: "Show as table" }).click();
  await page
    .getByRole("table", { name: "Figures by time" })
    .getByText("research")
    .first()
    .waitFor();
  await page.getByRole("button", { name: "Show as charts" }).click();
  await page.getByRole("group", { name: /^Runs per second/ }).focus();
  for (let n = 0; n < 3; n += 1) await page.keyboard.press("ArrowLeft");
  await page.keyboard.press("Enter");
  await page.waitForURL(/traces\?.*from=/);
});

test("an unknown trace is named as such, and axe finds nothing in both themes", async () => {
  const spans = await send(RESEARCH);
  const missing = crypto.randomUUID();
  const paths = [
    `/traces?project=${project_id}`,
    `/traces/${spans[0]?.id}`,
    `/traces/${missing}`,
    `/traces/compare?a=${spans[0]?.id}`,
    `/monitor?project=${project_id}&range=1h`,
  ];
  const found: unknown[] = [];
  for (const scheme of ["light", "dark"] as const) {
    for (const width of [1280, 390]) {
      const one = await openConsole(browser, "", { scheme, width });
      one.page.setDefaultTimeout(PATIENCE_MS);
      for (const path of paths) {
        await one.page.goto(consoleUrl(path));
        await one.page.locator(READY).first().waitFor();
        await shoot(
          one.page,
          `${path.split("?")[0]?.slice(0, 18).replaceAll("/", "-")}-${scheme}-${width}`,
        );
        found.push(
          ...(await violationsOf(one.page)).map((problem) => [path, scheme, width, problem]),
        );
        const overflow = await one.page.evaluate(
          "document.documentElement.scrollWidth - innerWidth",
        );
        if (overflow !== 0) found.push([path, width, overflow]);
      }
      await one.context.close();
    }
  }
  expect(found).toEqual([]);
});

/** Elements that a page shows when its data has arrived. */
const READY =
  ".traces tbody a, .span-body .json, .span-body h3, [role=alert], .compare-sides .json, .mp";

/** Pictures for people, where SHOTS names a folder. */
async function shoot(from: Page, name: string): Promise<void> {
  const { SHOTS } = process.env;
  if (SHOTS === undefined) return;
  await mkdir(SHOTS, { recursive: true });
  await from.screenshot({ path: `${SHOTS}/${name}.png` });
}
