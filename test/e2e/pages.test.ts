import { readFile } from "node:fs/promises";
import { transform } from "esbuild";
import type { Browser, BrowserContext, Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, beforeEach, expect } from "vitest";
import { startBrowser } from "../support/node/browser.ts";
import { browserTest as test } from "../support/node/browser-test.ts";
import { deploy } from "./support/deployments.ts";
import { stack, until } from "./support/stack.ts";

const SECRET = "secret of the origin";
const COOKIE = "cookie-of-the-origin";
/** Traces of data that a hostile page must not read. */
const BREACH = /secret of|cookie-of|registered|connected|answered|"ok"|Heddle API/;

/** Fills every storage of the origin that the page is of, and keeps on broadcasting. */
const PLANT = `(async () => {
  const secret = ${JSON.stringify(SECRET)};
  localStorage.setItem("secret", secret);
  const request = indexedDB.open("secrets", 1);
  request.onupgradeneeded = () => request.result.createObjectStore("secrets").put(secret, "secret");
  await new Promise((resolve, reject) => {
    request.onsuccess = resolve;
    request.onerror = reject;
  });
  await (await caches.open("secrets")).put("/secret", new Response(secret));
  const folder = await navigator.storage.getDirectory();
  const file = await (await folder.getFileHandle("secret", { create: true })).createWritable();
  await file.write(secret);
  await file.close();
  const channel = new BroadcastChannel("secrets");
  setInterval(() => channel.postMessage(secret), 50);
})()`;

let browser: Browser;
let hostile: string;
let hostile_host: string;
let victim: string;
beforeAll(async () => {
  const files = await hostileFiles();
  const [one, other, started] = await Promise.all([
    deploy("hostile", files),
    deploy("victim", files),
    startBrowser(),
  ]);
  hostile = one.agent_url;
  hostile_host = `http://${one.id}.localhost:${new URL(stack.base_url).port}`;
  victim = other.agent_url;
  browser = started;
});
afterAll(() => browser?.close());

async function hostileFiles() {
  const lock = JSON.parse(await readFile("package-lock.json", "utf8"));
  const { version, integrity } = lock.packages["node_modules/hono"];
  const dependencies = { hono: version };
  const app = await readFile("test/fixtures/hostile-app/app.ts", "utf8");
  const { code } = await transform(await readFile("test/fixtures/pages/attack.ts", "utf8"), {
    loader: "ts",
  });
  return {
    "langgraph.json": JSON.stringify({
      graphs: { echo: "./agent.ts:agent" },
      http: { app: "./app.ts:app", enable_custom_route_auth: false },
    }),
    "package.json": JSON.stringify({
      name: "pages",
      version: "1.0.0",
      type: "module",
      dependencies,
    }),
    "package-lock.json": JSON.stringify({
      name: "pages",
      version: "1.0.0",
      lockfileVersion: 3,
      packages: {
        "": { name: "pages", version: "1.0.0", dependencies },
        "node_modules/hono": { version, integrity },
      },
    }),
    "agent.ts": await readFile("examples/echo/agent.ts", "utf8"),
    "app.ts": `const ATTACK = ${JSON.stringify(code)};\n${app}`,
  };
}

let context: BrowserContext;
/** A page of the control plane's origin, where its user has something to lose. */
let home: Page;
beforeEach(async () => {
  context = await browser.newContext();
  await context.addCookies([{ url: stack.base_url, name: "session", value: COOKIE }]);
  home = await context.newPage();
  await home.goto(`${stack.base_url}/ok`);
  await home.evaluate(PLANT);
});
afterEach(() => context.close());

const attackOf = async (page: Page) => (await page.evaluate("results")) as Record<string, string>;

const breachesOf = (results: Record<string, string>) =>
  Object.entries(results).filter(([, read]) => BREACH.test(read));

async function expectNothingLost() {
  const cookies = await context.cookies(stack.base_url);
  expect(cookies.map(({ name, value }) => [name, value])).toEqual([["session", COOKIE]]);
  await home.goto(`${stack.base_url}/ok`);
  expect(await home.textContent("body")).toBe('{"ok":true}');
  expect(await home.evaluate("localStorage.getItem('secret')")).toBe(SECRET);
  const registrations = "navigator.serviceWorker.getRegistrations().then((all) => all.length)";
  expect(await home.evaluate(registrations)).toBe(0);
}

/** Calls of `/whoami` that reached an agent. */
const callsOf = async (agent: string) =>
  (await (await fetch(`${agent}/calls`)).json()) as { method: string; cookie: string | null }[];

test.each(["page", "page.xhtml", "page.svg"])(
  "%s of a hostile agent reads nothing of its origin and changes nothing there",
  async (name) => {
    const other = await context.newPage();
    await other.goto(`${victim}/secret`);
    const page = await context.newPage();
    const before = (await callsOf(victim)).length;
    await page.goto(`${hostile}/${name}?${new URLSearchParams({ victim })}`);
    const results = await attackOf(page);
    expect(Object.keys(results).length).toBeGreaterThan(20);
    expect(breachesOf(results)).toEqual([]);
    expect(results.origin).toBe("origin null");
    const newCalls = async () => (await callsOf(victim)).slice(before);
    const calls = await until("Its calls", newCalls, ({ length }) => length > 1);
    const byMethod = calls.toSorted((a, b) => a.method.localeCompare(b.method));
    expect(byMethod).toEqual(["GET", "POST"].map((method) => ({ method, cookie: null })));
    await page.goto(`${hostile}/clear`);
    await expectNothingLost();
  },
);

test("a hostile page that a page of the origin opens reads nothing of its opener", async () => {
  const opening = context.waitForEvent("page");
  await home.evaluate(`void open(${JSON.stringify(`${hostile}/page?victim=${victim}`)})`);
  const opened = await opening;
  await opened.waitForLoadState();
  expect(breachesOf(await attackOf(opened))).toEqual([]);
  await expectNothingLost();
});

test("an agent's host name is a separate origin", async () => {
  const page = await context.newPage();
  await page.goto(`${hostile_host}/page?${new URLSearchParams({ victim })}`);
  const results = await attackOf(page);
  expect(results.origin).toBe(`origin ${hostile_host}`);
  expect(results["service worker"]).toBe(`registered ${hostile_host}/`);
  expect(results.cookie).toBe("planted=by-agent");
  expect(Object.values(results).filter((read) => /secret of|cookie-of/.test(read))).toEqual([]);
  await expectNothingLost();
});
