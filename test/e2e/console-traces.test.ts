import { mkdir } from "node:fs/promises";
import type { Browser, Locator, Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { startBrowser } from "../support/node/browser.ts";
import { manySpans, type SpanSeed, sendSpans, toWireSpans } from "../support/node/trace-spans.ts";
import { type ConsolePage, consoleUrl, openConsole, violationsOf } from "./support/console.ts";
import { request } from "./support/http.ts";

const PROJECT = `console-${crypto.randomUUID().slice(0, 8)}`;
const HOSTILE = '<img src=x onerror="document.title=1">\u202Egnp.exe\u202C {{7*7}} \u0007 سلام';
const LONG_NAME = "w".repeat(100_000);

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
/** Pixels of a name that are not shown. */
const cutOf = ({ scrollWidth, clientWidth }: { scrollWidth?: number; clientWidth?: number }) =>
  (scrollWidth ?? 0) - (clientWidth ?? 0);
/** Pixels of a placeholder beyond the width of its field. */
const HIDDEN_PLACEHOLDER = `(() => {
  const field = document.querySelector("[aria-label=Filter]");
  const pen = document.createElement("canvas").getContext("2d");
  pen.font = getComputedStyle(field).font;
  return pen.measureText(field.placeholder).width - field.clientWidth;
})()`;
const spanNamed = (name: string) => page.getByRole("treeitem").filter({ hasText: name });

const QUESTION = [
  "# Task",
  "Compare **heat pump** subsidies [x](javascript:1)",
  "- of [Austria](https://example.com/at)",
  "```\n<b>raw</b>\n```",
].join("\n");

const RESEARCH: SpanSeed[] = [
  {
    name: "research",
    start: 0,
    end: 46_000,
    more: {
      error: "TooManyRequests: quota of 60 requests a minute is used up\n  at search.ts:41",
      tags: ["market", "canary"],
      inputs: {
        messages: [{ role: "user", content: QUESTION }],
      },
      extra: { metadata: { revision_id: "r-1", queue_wait_ms: 1500 } },
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
  const more = { inputs: { messages: [{ role: "user", content: "What is\nnew?" }] } };
  const [root] = await send([{ name: "first run", start: 0, more }], started_at);
  await rows().filter({ hasText: "first run" }).getByText("so far").waitFor();
  await rows().getByText("What is new?").waitFor();
  await request("PATCH", `/runs/${root?.id}`, {
    end_time: new Date().toISOString(),
    outputs: { answer: "Nothing." },
    trace_id: root?.id,
    dotted_order: root?.dotted_order,
  });
  await rows().filter({ hasText: "so far" }).waitFor({ state: "detached" });
  await page.setViewportSize({ width: 1920, height: 900 });
  await rows().getByText("Nothing.").waitFor();
  await page.setViewportSize({ width: 1280, height: 800 });
});

test("words that another project has lead there, and a click anywhere on a row opens its trace", async () => {
  const word = `w${crypto.randomUUID().slice(0, 8)}`;
  const seed = { name: "quote", start: 0, end: 900, more: { error: `CurrencyError: ${word}` } };
  const at = new Date(Date.now() - 3 * 24 * 3_600_000);
  const [span] = toWireSpans(`elsewhere-${word}`, at, [seed]);
  await sendSpans((path, body) => request("POST", path, body), span ? [span] : []);
  await page.goto(traces(`&q=${encodeURIComponent(`search("${word}")`)}`));
  await page.getByRole("heading", { name: "No trace matches" }).waitFor();
  const link = page.getByRole("list", { name: "Found elsewhere" }).getByRole("link");
  await expect
    .poll(() => link.allTextContents())
    .toEqual([`1 trace in elsewhere-${word}, last 30 days`]);
  await link.click();
  await rows().getByText(`CurrencyError: ${word}`).click();
  await page.waitForURL(`**/traces/${span?.trace_id}*`);
});

test("the list and the totals cover the time that is chosen, and nothing older", async () => {
  const name = `old ${crypto.randomUUID().slice(0, 8)}`;
  const day_ms = 24 * 3_600_000;
  await send([{ name, start: 0, end: 900 }], new Date(Date.now() - day_ms + 3_600_000));
  const older: SpanSeed = { name, start: 0, end: 900, more: { error: "an older failure" } };
  await send([older], new Date(Date.now() - day_ms - 5000));
  await page.goto(traces(`&q=${encodeURIComponent(`eq(name, "${name}")`)}`));
  await rows().first().waitFor();
  expect(await rows().count()).toBe(1);
  await page.getByText(/^1 run$/).waitFor();

  const hoursAgo = (hours: number) => new Date(Date.now() - hours * 3_600_000).toISOString();
  await page.getByRole("button", { name: "Custom", exact: true }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel("From, UTC").fill(hoursAgo(26).slice(0, 19));
  await dialog.getByLabel("To, UTC").fill(hoursAgo(27).slice(0, 19));
  await dialog.getByRole("button", { name: "Show" }).click();
  await dialog.getByText("To must be after From").waitFor();
  expect(await violationsOf(page)).toEqual([]);
  await dialog.getByLabel("To, UTC").fill(hoursAgo(23.5).slice(0, 19));
  await dialog.getByRole("button", { name: "Show" }).click();
  await page.waitForURL((url) => url.searchParams.has("from") && url.searchParams.has("to"));
  await page.getByText("Custom range").waitFor({ state: "attached" });
  await rows().getByText("an older failure").waitFor();
  await expect.poll(() => rows().count()).toBe(1);
  const range = page.getByRole("combobox", { name: "Time range" });
  await range.selectOption("Last 7 days");
  await page.waitForURL((url) => !url.searchParams.has("from"));
  await expect.poll(() => rows().count()).toBe(2);
});

test("the columns of a long list fill its width", async () => {
  const name = `long ${crypto.randomUUID().slice(0, 8)}`;
  const spans = Array.from({ length: 60 }, (_, n) =>
    toWireSpans(PROJECT, new Date(Date.now() - n * 1000 - 60_000), [{ name, start: 0, end: 900 }]),
  );
  await sendSpans((path, body) => request("POST", path, body), spans.flat());
  await page.goto(traces(`&q=${encodeURIComponent(`eq(name, "${name}")`)}`));
  await page.locator(".traces .spacer").first().waitFor({ state: "attached" });
  const rightOf = async (locator: Locator) => {
    const box = await locator.boundingBox();
    return box === null ? null : Math.round(box.x + box.width);
  };
  const table = page.getByRole("table", { name: "Traces" });
  expect(await rightOf(table.getByRole("columnheader").last())).toBe(await rightOf(table));
});

test("a filter is completed and checked while it is typed, and stays in the address", async () => {
  await send(RESEARCH);
  await page.goto(traces());
  const field = page.getByRole("combobox", { name: "Filter" });
  await field.click();
  expect(await field.getAttribute("placeholder")).toMatch(/^A word, or a filter such as eq\(/);
  expect(await page.evaluate(HIDDEN_PLACEHOLDER)).toBeLessThanOrEqual(0);
  await field.pressSequentially("eq(sta");
  await page.getByRole("option", { name: /^status/ }).waitFor();
  await page.keyboard.press("Tab");
  await page.keyboard.press("Tab");
  expect(await field.inputValue()).toBe('eq(status, "error")');
  await rows().getByText("quota of 60 requests").waitFor();
  await expect.poll(() => rows().count()).toBe(1);

  await field.fill('gt(latncy, "20s")');
  await page.getByText("At character 4: latncy is not a field").waitFor();
  expect(await rows().count()).toBe(1);
  await page.getByRole("button", { name: "Use latency" }).click();
  await page.waitForURL(/latency/);
  await page.reload();
  await rows().filter({ hasText: "research" }).waitFor();
  expect(await field.inputValue()).toBe('gt(latency, "20s")');
  expect(await rows().count()).toBe(1);
  await page.goBack();
  await page.waitForURL(/status/);
  await expect.poll(() => field.inputValue()).toBe('eq(status, "error")');

  await field.fill("quota of 60");
  await page.waitForURL(/search/);
  await rows().getByText("quota of 60 requests").waitFor();
  expect(await rows().count()).toBe(1);
});

test("text that is typed while an earlier filter is being applied stays, and is a saved view", async () => {
  await page.goto(traces());
  const field = page.getByRole("combobox", { name: "Filter" });
  await field.waitFor();
  const [first, second] = ['eq(status, "error")', 'eq(status, "success")'];
  await page.evaluate(typeWhenPushed(second));
  await field.fill(first);
  await page.waitForURL(/success/);
  expect(await field.inputValue()).toBe(second);
  await page.getByRole("button", { name: "Views" }).click();
  await page.getByLabel("Name of the view").fill(HOSTILE);
  await page.getByRole("button", { name: "Save view" }).click();
  await page.goto(traces());
  await page.getByRole("button", { name: "Views" }).click();
  await page.getByRole("link", { name: "<img src=x" }).click();
  await page.waitForURL(/success/);
  await expect.poll(() => field.inputValue()).toBe(second);
  await page.getByRole("button", { name: "Views" }).click();
  await page.getByRole("button", { name: /^Remove the view/ }).click();
  await page.getByText("No saved views in this browser.").waitFor();
});

/** Runs in the page: types between a change of the address and the next rendering, as fast people do. */
function typeWhenPushed(text: string): string {
  return `{
    const push = history.pushState;
    history.pushState = function (...args) {
      push.apply(this, args);
      history.pushState = push;
      const field = document.querySelector("[role=combobox]");
      const { set } = Object.getOwnPropertyDescriptor(HTMLInputElement.prototype, "value");
      set.call(field, ${JSON.stringify(text)});
      field.dispatchEvent(new Event("input", { bubbles: true }));
    };
  }`;
}

test("the arrow keys choose a time in the histogram, and two runs are compared", async () => {
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
  const spans = page.getByRole("table", { name: "Spans of both runs" }).getByRole("row");
  await spans.filter({ hasText: "only in" }).first().waitFor();
  await page.getByText("Input, B against A").waitFor();
  expect(await violationsOf(page)).toEqual([]);
});

test("a failed trace opens at its deepest failure, and its tree is driven by keyboard", async () => {
  const [root] = await send(RESEARCH);
  await page.goto(consoleUrl(`/traces/${root?.id}`));
  const detail = page.getByRole("region", { name: "Chosen span" });
  await detail.getByRole("heading", { name: "web_search" }).waitFor();
  await detail.getByText("search.example answered 429").first().waitFor();
  await detail.getByText('"grid storage price"').waitFor();
  await page.getByText(/in which nothing ran, folded/).waitFor();

  await page.getByRole("tree", { name: "Spans of the trace" }).focus();
  await page.keyboard.press("Home");
  await detail.getByRole("heading", { name: "research" }).waitFor();
  await detail.locator(".msg strong").getByText("heat pump").waitFor();
  await detail.locator(".msg").getByText("[x](javascript:1)").waitFor();
  await detail.locator(".msg pre").getByText("<b>raw</b>").waitFor();
  const link = detail.getByRole("link", { name: "Austria" });
  expect(await link.getAttribute("rel")).toBe("noopener noreferrer nofollow");
  expect(await violationsOf(page)).toEqual([]);
  await page.keyboard.press("ArrowLeft");
  await spanNamed("gather").waitFor({ state: "detached" });
  await page.keyboard.press("ArrowRight");
  await spanNamed("gather").waitFor();
  await page.keyboard.press("j");
  await detail.getByRole("heading", { name: "plan" }).waitFor();
  await page.reload();
  await detail.getByRole("heading", { name: "plan" }).waitFor();
  await page.getByRole("button", { name: "Share" }).click();
  await page.getByRole("button", { name: "Create a link" }).click();
  const shared = await page.getByRole("dialog").getByRole("link").getAttribute("href");
  expect((await fetch(shared ?? "")).status).toBe(200);
  await page.getByRole("button", { name: "Revoke the link" }).click();
  await page.getByText("The trace is not shared.").waitFor();
  expect((await fetch(shared ?? "")).status).toBe(404);
  await page.getByRole("dialog").getByRole("button", { name: "Close" }).click();
  await page.getByRole("button", { name: "Errors only" }).click();
  await spanNamed("plan").waitFor({ state: "detached" });
  expect(await page.getByRole("treeitem").count()).toBeGreaterThanOrEqual(3);
  await page.getByRole("link", { name: "Feedback" }).click();
  await page.getByRole("heading", { name: "No feedback" }).waitFor();
  await page.getByRole("button", { name: "Add feedback" }).click();
  expect(await violationsOf(page)).toEqual([]);
  await page.getByLabel("Key").fill("correct");
  await page.getByLabel(/^Score/).fill("0.5");
  await page.getByLabel(/^Comment/).fill(HOSTILE);
  await page.getByRole("dialog").getByRole("button", { name: "Add feedback" }).click();
  await detail.getByRole("listitem").getByText("0.5").waitFor();
  await page.reload();
  await detail.getByText("<img src=x").waitFor();

  const filter = 'eq(name, "research")';
  await page.goto(traces(`&range=7d&${new URLSearchParams({ q: filter })}`));
  await rows().getByRole("link", { name: "research" }).first().click();
  await page.waitForURL(/traces\/[0-9a-f-]{36}/);
  const first = page.url();
  await page.getByRole("link", { name: "Next trace" }).click();
  await page.waitForURL((url) => url.href !== first);
  await page.getByRole("link", { name: "Previous trace" }).click();
  await page.waitForURL(first);
  const breadcrumb = page.getByRole("navigation", { name: "Breadcrumb" });
  await breadcrumb.getByRole("link", { name: "Traces" }).click();
  await page.waitForURL(/\/traces\?/);
  const kept = new URL(page.url()).searchParams;
  expect([kept.get("project"), kept.get("range"), kept.get("q")]).toEqual([
    ...[project_id, "7d", filter],
  ]);
});

test("a part of a deep trace is drawn over the whole width, and its names are read", async () => {
  const levels = Array.from({ length: 40 }, (_, n): SpanSeed => {
    const seed = { name: `level ${n + 1}`, start: n * 10, end: 2000 - n * 10 };
    return n === 0 ? seed : { ...seed, parent: n - 1 };
  });
  const [root] = await send(levels);
  await page.goto(consoleUrl(`/traces/${root?.id}`));
  await page.getByRole("tree", { name: "Spans of the trace" }).focus();
  await page.keyboard.press("End");
  const detail = page.getByRole("region", { name: "Chosen span" });
  await detail.getByRole("heading", { name: "level 40" }).waitFor();
  const above = detail.getByRole("navigation", { name: "Spans above" });
  await above.getByText("36 above").waitFor();
  const name = spanNamed("level 40").locator(".nm");
  const widthOf = async () => (await name.boundingBox())?.width ?? 0;
  const narrow = await widthOf();
  expect(narrow).toBeGreaterThan(40);
  expect(await name.evaluate(cutOf)).toBe(0);
  await page.getByRole("separator", { name: "Width of the names" }).focus();
  for (let n = 0; n < 4; n += 1) await page.keyboard.press("ArrowRight");
  await expect.poll(widthOf).toBeGreaterThanOrEqual(narrow);
  await above.getByRole("link", { name: "level 39" }).click();
  await detail.getByRole("heading", { name: "level 39" }).waitFor();

  const axis = await page.locator(".tree-row.axis .wf").boundingBox();
  if (axis === null) throw new Error("The axis is not on the page");
  const y = axis.y + axis.height / 2;
  await page.mouse.move(axis.x + axis.width * 0.25, y);
  await page.mouse.down();
  await page.mouse.move(axis.x + axis.width * 0.5, y);
  await page.mouse.up();
  await page.waitForURL(/from_ms=/);
  const from = Number(new URL(page.url()).searchParams.get("from_ms"));
  expect(Math.abs(from - 500)).toBeLessThan(20);
  await page.locator(".axis .ax").getByText(/^\+/).first().waitFor();
  await page.getByRole("button", { name: "Whole trace" }).click();
  await page.waitForURL((url) => !url.searchParams.has("from_ms"));
  await page.getByRole("button", { name: "Zoom to span" }).click();
  await page.waitForURL(/from_ms=380/);
  expect(await violationsOf(page)).toEqual([]);
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

test("10,000 spans and 5 MB of payload stay in a small document", async () => {
  const seeds = manySpans(10_000);
  const [last] = seeds.slice(-1);
  if (last) last.more = { outputs: { text: "x".repeat(1_000_000), list: listOf(4_000_000) } };
  const spans = await send(seeds, new Date(Date.now() - 300_000));
  await page.goto(consoleUrl(`/traces/${spans[0]?.id}?span=${spans.at(-1)?.id}`));
  await page.getByText("10,000 spans").waitFor();
  await spanNamed("model 9999").waitFor();
  await page.getByRole("tree", { name: "Output" }).getByText("Show 1.0 MB").waitFor();
  expect(await page.evaluate("document.querySelectorAll('*').length")).toBeLessThan(2500);
  await page.getByRole("searchbox", { name: "Search in output" }).fill("needle");
  await page.keyboard.press("Enter");
  await page.getByRole("tree", { name: "Output" }).locator("mark", { hasText: "needle" }).waitFor();
  await page.getByRole("tree", { name: "Spans of the trace" }).focus();
  await page.keyboard.press("Home");
  await spanNamed("agent").first().waitFor();
  expect(await page.evaluate("document.querySelectorAll('*').length")).toBeLessThan(2500);
});

function listOf(bytes: number): string[] {
  const list = Array.from({ length: Math.floor(bytes / 40) }, (_, n) =>
    `entry ${n}`.padEnd(36, "."),
  );
  return [...list, "needle"];
}

test("hostile text is shown as text in the list and in a trace", async () => {
  const [root] = await send([
    {
      name: HOSTILE,
      start: 0,
      end: 10,
      more: {
        error: `${HOSTILE}: ${LONG_NAME}`,
        tags: [HOSTILE],
        inputs: { [HOSTILE]: HOSTILE, [LONG_NAME]: 1 },
        outputs: { html: "<script>document.title = 1</script>" },
        extra: { metadata: { [HOSTILE]: { [HOSTILE]: 1 } } },
      },
    },
  ]);
  await page.goto(traces());
  await rows().getByRole("link", { name: "<img src=x" }).click();
  await page.waitForURL(new RegExp(`${root?.id}`));
  await page.getByRole("tree", { name: "Input" }).getByText("\\u{202e}").first().waitFor();
  await page.getByText("and 99,800 more characters").waitFor();
  await page.getByRole("link", { name: "Metadata" }).click();
  await page.getByRole("tree", { name: "Metadata" }).waitFor();
  expect(await page.locator("main img, main script").count()).toBe(0);
  const { body } = await request<{ key: string }>("POST", "/api/v1/api-key", { role: "viewer" });
  const path = `/traces/${root?.id}?tab=feedback`;
  const viewer = await openConsole(browser, path, { key: body.key });
  await viewer.page.getByRole("heading", { name: "No feedback" }).waitFor();
  expect(await viewer.page.getByRole("button", { name: "Add feedback" }).count()).toBe(0);
  await viewer.context.close();
  expect(await page.title()).toContain("Heddle");
  expect(await page.evaluate("document.documentElement.scrollWidth - innerWidth")).toBe(0);
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
  await page.getByRole("cell", { name: "1.5 s", exact: true }).first().waitFor();
  await page.getByRole("button", { name: "Show as charts" }).click();
  await page.getByRole("group", { name: /^Wait in the queue/ }).waitFor();
  const rate = page.getByRole("group", { name: /^Runs per second/ });
  const box = await rate.boundingBox();
  if (box === null) throw new Error("The chart is not on the page");
  await page.mouse.move(box.x + box.width * 0.7, box.y + 20);
  await page.mouse.down();
  await page.mouse.move(box.x + box.width * 0.95, box.y + 20, { steps: 3 });
  await page.mouse.up();
  await page.waitForURL(/monitor\?.*from=/);
  const { searchParams: zoomed } = new URL(page.url());
  const minutes =
    (Date.parse(zoomed.get("to") ?? "") - Date.parse(zoomed.get("from") ?? "")) / 60_000;
  expect(minutes).toBeGreaterThan(10);
  expect(minutes).toBeLessThan(20);
  await rate.waitFor();
  await page.getByRole("button", { name: "Whole range" }).click();
  await page.waitForURL((url) => !url.searchParams.has("from"));
  await rate.focus();
  for (let n = 0; n < 3; n += 1) await page.keyboard.press("ArrowLeft");
  await page.keyboard.press("Enter");
  await page.waitForURL(/traces\?.*from=/);
});

test("an unknown trace is named as such", async () => {
  await page.goto(consoleUrl(`/traces/${crypto.randomUUID()}`));
  await page.getByRole("alert").first().waitFor();
  expect(await violationsOf(page)).toEqual([]);
});

/** Pictures for people, where SHOTS names a folder. */
async function shoot(from: Page, name: string): Promise<void> {
  const { SHOTS } = process.env;
  if (SHOTS === undefined) return;
  await mkdir(SHOTS, { recursive: true });
  await from.screenshot({ path: `${SHOTS}/${name}.png` });
}

test("a run that no longer matches the filter shows its end", async () => {
  const started_at = new Date(Date.now() - 5000);
  const [root] = await send([{ name: "under way", start: 0 }], started_at);
  await page.goto(traces(`&q=${encodeURIComponent('eq(status, "pending")')}`));
  const row = rows().filter({ hasText: "under way" });
  await row.getByText("so far").waitFor();
  const end = { trace_id: root?.id, dotted_order: root?.dotted_order, end_time: Date.now() };
  await request("PATCH", `/runs/${root?.id}`, { ...end, outputs: {} });
  await row.getByText("so far").waitFor({ state: "detached" });
  expect(await row.count()).toBe(1);
});
