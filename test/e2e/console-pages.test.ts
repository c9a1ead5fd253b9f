import { readdir, readFile } from "node:fs/promises";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, expect } from "vitest";
import { startBrowser } from "../support/node/browser.ts";
import { browserTest as test } from "../support/node/browser-test.ts";
import { type Access, accessOf } from "../support/node/console/access.ts";
import { CONSOLE_PATHS } from "../support/node/console/pages.ts";
import { seedWorld, type World } from "../support/node/console/seed.ts";
import { HOSTILE, MARK } from "../support/node/console/words.ts";
import { type ConsolePage, openConsole, violationsOf } from "./support/console.ts";
import { enter, tabTo } from "./support/keyboard.ts";
import { readControls } from "./support/reachable.ts";
import { stack } from "./support/stack.ts";
import { createWorkspace } from "./support/workspaces.ts";

const MAX_NODES = 2500;

/** Seeded texts that each page must show. The seed appends markup, a script, control characters and bidi marks to each. */
const SHOWN: Record<string, string[]> = {
  overview: ["Support team", "Support agent"],
  deployments: ["Support agent"],
  deployment: ["Support agent"],
  "deployment-log": ["Fail: the parcel service is unknown"],
  playground: ["Support agent", "Polite support", "What is 6 * 7?"],
  threads: ["What is 6 * 7?", "Fail: the parcel service is unknown", "customer: Ada"],
  thread: ["What is 6 * 7?"],
  "thread-failed": ["Fail: the parcel service is unknown", "Grace", "came by mail"],
  assistants: ["Polite support", "Answers in full sentences", '"polite', '"team":"support'],
  crons: ["Sum up the open orders"],
  store: ["europe", "ada", "Prefers mail"],
  traces: ["name research", "research", "market", "helpfulness"],
  trace: ["research", "web_search", "Compare the subsidies for heat pumps in four countries"],
  "trace-failed": ["web_search", '"query', "grid storage price"],
  "trace-feedback": ["sources", "helpfulness", "The answer came too late"],
  compare: ["A: research", "at call (search.ts:41:13)"],
  monitor: ["research"],
  alerts: ["Errors of the research", '"plan'],
  exports: ["s3://exports/research"],
  export: ["s3://exports/research", "web_search", '"key": "research'],
  schedule: ["s3://exports/research"],
  "new-export": ["s3://exports/research"],
  connections: ["Acme on GitHub", "GitHub"],
  "settings-keys": ["Dashboard of the support team", "CI of the billing agent"],
};

/** Runs in the page. Resolves at the end of all transitions. */
const AFTER_TRANSITIONS = `Promise.allSettled(
  document.getAnimations().filter((each) => each instanceof CSSTransition).map((each) => each.finished),
)`;

/** Runs in the page. Returns the elements created from text, the texts with bidi controls, and the navs with two current links. */
const FIND_DAMAGE = `(() => {
  const MARKS = /[\\u202A-\\u202E\\u2066-\\u2069]/;
  const attributesOf = ({ title, ariaLabel, placeholder }) => [title, ariaLabel, placeholder];
  const texts = [...document.querySelectorAll("body, body *")].flatMap((element) => [
    ...attributesOf(element),
    ...[...element.childNodes].filter(({ nodeType }) => nodeType === 3).map(({ data }) => data),
  ]);
  const currentOf = (nav) => [...nav.querySelectorAll("a[aria-current]")]
    .filter((link) => link.checkVisibility())
    .map(({ href }) => href);
  const ambiguous = [...document.querySelectorAll("nav")]
    .filter((nav) => new Set(currentOf(nav)).size > 1);
  return {
    elements: document.querySelectorAll("#${MARK}").length,
    reordered: texts.filter((text) => MARKS.test(text ?? "")).map((text) => text.slice(0, 80)),
    ambiguous: ambiguous.map((nav) => nav.ariaLabel),
  };
})()`;

let browser: Browser;
let access: Access;
let world: World;
let opened: ConsolePage;
let page: Page;
beforeAll(async () => {
  const headers = await createWorkspace(HOSTILE.text("Support team"));
  const [api_key = "", tenant_id = ""] = [headers["x-api-key"], headers["x-tenant-id"]];
  access = accessOf({ ...stack, api_key, tenant_id });
  [browser, world] = await Promise.all([startBrowser(), seedWorld(access, HOSTILE)]);
  opened = await openConsole(browser, "", { key: api_key });
  page = opened.page;
  page.on("dialog", (dialog) => {
    opened.problems.push(dialog.message());
    void dialog.dismiss();
  });
});
afterAll(() => browser?.close());

const urlOf = (path: string) => `${stack.base_url}/console/w/${access.tenant_id}${path}`;

async function resizeWithoutOverflow(width: number, height: number) {
  await page.setViewportSize({ width, height });
  expect(await page.evaluate("document.documentElement.scrollWidth - innerWidth")).toBe(0);
}

async function setTheme(colorScheme: "light" | "dark") {
  await page.emulateMedia({ colorScheme });
  await page.evaluate(AFTER_TRANSITIONS);
}

test("each route of the console is in the table of pages", async () => {
  const folder = "src/console/routes";
  const files = await readdir(folder);
  const texts = await Promise.all(files.map((file) => readFile(`${folder}/${file}`, "utf8")));
  const paths = texts.flatMap((text) =>
    [...text.matchAll(/^ {2}path: "(.+)",$/gm)].map(([, path]) => path),
  );
  expect(paths.length).toBeGreaterThan(15);
  const tested = ["/login", "/w/$workspace", ...CONSOLE_PATHS.map(({ route }) => route)];
  expect([...new Set(paths)].sort()).toEqual([...new Set(tested)].sort());
});

test.each(CONSOLE_PATHS)("$name passes axe and shows hostile text as text", async (each) => {
  await page.emulateMedia({ colorScheme: "light" });
  await page.setViewportSize({ width: 1280, height: 800 });
  await page.goto(urlOf(each.path(world)));
  await page.locator(each.ready).first().waitFor();
  await page.locator("#main .sk").first().waitFor({ state: "detached" });
  // Parts of a page load by themselves, and show nothing for their first 200 ms.
  for (const word of SHOWN[each.name] ?? []) {
    await expect.poll(shownText).toMatch(markedText(word));
  }
  expect(await page.evaluate(FIND_DAMAGE)).toEqual({ elements: 0, reordered: [], ambiguous: [] });
  expect(await page.title()).not.toBe(MARK);
  expect(await page.evaluate("document.querySelectorAll('*').length")).toBeLessThan(MAX_NODES);
  // Each size runs all axe rules in one theme, and only the contrast rule in the other.
  await resizeWithoutOverflow(1280, 800);
  expect(await violationsOf(page)).toEqual([]);
  await setTheme("dark");
  expect(await violationsOf(page, "color-contrast")).toEqual([]);
  await resizeWithoutOverflow(390, 844);
  expect(await violationsOf(page)).toEqual([]);
  await setTheme("light");
  expect(await violationsOf(page, "color-contrast")).toEqual([]);
  const { controls, found } = await readControls(page);
  expect(controls).toBeGreaterThan(5);
  expect(found).toEqual([]);
  expect([opened.problems, opened.strangers]).toEqual([[], []]);
});

async function shownText() {
  return String(await page.evaluate("document.body.innerText")).replaceAll("\n", " ");
}

function markedText(word: string): RegExp {
  const escaped = word.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
  return new RegExp(`${escaped} ?<img id=${MARK}`);
}

test("the main actions are done by keyboard alone", async () => {
  const { page: own } = await openConsole(browser, "", { key: access.api_key });
  const press = async (...keys: string[]) => {
    for (const key of keys) await own.keyboard.press(key);
  };
  const messages = own.getByRole("region", { name: "Messages" });
  await press("Control+k");
  await own.getByRole("dialog").waitFor();
  await own.keyboard.type("threads");
  await press("Enter");
  await own.getByRole("table", { name: "Threads" }).waitFor();
  await enter(own, /^Please refund order 2210/);
  await own.locator(".ask").waitFor();
  await enter(own, /^Approve refund_order/);
  await messages.getByText("Done: Refunded 5.00 for order 2210.").waitFor();
  await tabTo(own, /^Write to the agent/);
  await own.keyboard.type("What is 120 / 8?");
  await press("Control+Enter");
  await messages.getByText("Done: 15").waitFor();

  await press("Control+k");
  await own.getByRole("dialog").waitFor();
  await own.keyboard.type("deployments");
  await own.getByRole("option", { name: /^Deployments/, selected: true }).waitFor();
  await press("Enter");
  await own.waitForURL(/\/deployments$/);
  await own.getByRole("table", { name: "Deployments" }).waitFor();
  await enter(own, /^Support agent/);
  await own.getByRole("log").waitFor();
  await enter(own, /Replaced/);
  await enter(own, /^Roll back/);
  const dialog = own.getByRole("dialog");
  await dialog.waitFor();
  expect(await dialog.locator(":focus").textContent()).toBe("Keep as it is");
  await enter(own, /^Roll back now$/);
  await own.getByText(/^Rolled back to \w{7} #\d+ in /).waitFor();

  await press("g", "r");
  await own.getByRole("table", { name: "Traces" }).waitFor();
  await press("?");
  await own.getByRole("dialog", { name: "Keys" }).waitFor();
  await press("Escape");
  await own.getByRole("dialog", { name: "Keys" }).waitFor({ state: "detached" });
  await press("g", "e");
  await own.getByRole("table", { name: "Exports" }).waitFor();
  await press("f");
  await own.getByText(/^Paused/).waitFor();
});

test("a list and its detail agree, and follow each other in two tabs", async () => {
  await page.emulateMedia({ colorScheme: "light" });
  await page.setViewportSize({ width: 1280, height: 800 });
  await page.goto(urlOf(`/threads?deployment=${world.deployment}`));
  const row = page.getByRole("row", { name: /^What is 6 \* 7\?/ });
  await row.getByText("Waiting").waitFor();
  const detail = await opened.context.newPage();
  await detail.goto(urlOf(`/threads/${world.deployment}/${world.waiting}`));
  await detail.getByText("Waiting for a person", { exact: true }).waitFor();
  await detail.getByRole("button", { name: "Approve refund_order" }).click();
  await detail.getByText("Done: Refunded 19.90 for order 1042.").first().waitFor();
  await row.getByText("Idle").waitFor();
  await detail.goto(urlOf(`/traces?project=${world.project}&range=3h`));
  const cells = detail.locator(".traces tbody tr:not(.spacer)").nth(1).getByRole("cell");
  await cells.first().waitFor();
  const [, , latency = "", , tokens = ""] = await cells.allInnerTexts();
  expect(latency).toMatch(/\d/);
  await cells.getByRole("link").first().click();
  await detail.getByText(`${latency.trim()} latency`).waitFor();
  await detail.getByText(`${tokens.trim()} tokens`).first().waitFor();
  await detail.close();
});
