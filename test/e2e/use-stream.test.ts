import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import type { Browser, BrowserContext, Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect } from "vitest";
import { startBrowser } from "../support/node/browser.ts";
import { browserTest as test } from "../support/node/browser-test.ts";
import { type Pages, servePages } from "../support/node/pages.ts";
import { client } from "./support/clients.ts";
import { deploy } from "./support/deployments.ts";
import { stack, until } from "./support/stack.ts";

/** No part of it occurs twice; its run waits at the bar until the test has seen enough. */
const ALPHABET = "abcdefghijklmnopqrstuvwxyz|0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";
const BEFORE_BAR = ALPHABET.slice(0, 26);
/** Takes minutes: who waits for its end waits in vain. */
const ENDLESS = ALPHABET.replace("|", "").repeat(500);

const entry = "test/fixtures/pages/use-stream.tsx";
const alias = {
  "@langchain/langgraph-sdk/react": "langgraph-sdk-2/react",
  "@langchain/langgraph-sdk/react-ui": "langgraph-sdk-2/react-ui",
};

let agent: Awaited<ReturnType<typeof deploy>>;
let pages: Pages;
let browser: Browser;
beforeAll(async () => {
  [agent, pages, browser] = await Promise.all([
    deployPageAgent(),
    servePages({
      "1.15": { entry },
      "2.0.0": { entry, alias },
      controller: { entry: "test/fixtures/pages/stream-controller.tsx" },
    }),
    startBrowser(),
  ]);
});
afterAll(async () => {
  await browser?.close();
  await pages?.close();
});

let context: BrowserContext;
let complaints: string[];
beforeEach(async () => {
  context = await browser.newContext();
  complaints = [];
  context.on("console", (message) => {
    if (["error", "warning"].includes(message.type())) complaints.push(message.text());
  });
  context.on("weberror", (error) => complaints.push(String(error.error())));
});
afterEach(async () => {
  await context.close();
  expect(complaints).toEqual([]);
});

async function deployPageAgent() {
  const names = ["streamsCharacters", "interruptsAfterText", "pushesUi"];
  const graphs = Object.fromEntries(names.map((name) => [name, `./graphs.ts:${name}`]));
  const config = JSON.stringify({ graphs, ui: { pushesUi: "./ui.tsx" } });
  const sources = await filesOf("test/fixtures/page-agent");
  const { "package.json": manifest = "", "package-lock.json": lock = "" } =
    await filesOf("examples/chat");
  const packages = { "package.json": manifest, "package-lock.json": lock };
  return deploy("page-agent", { ...sources, ...packages, "langgraph.json": config });
}

async function filesOf(folder: string): Promise<Record<string, string>> {
  const entries = (await readdir(folder, { withFileTypes: true })).filter((one) => one.isFile());
  const files = entries.map(async ({ name }) => [name, await readFile(join(folder, name), "utf8")]);
  return Object.fromEntries(await Promise.all(files));
}

/** Keeps every text that the page has ever shown as an answer, over reloads too. */
async function watch(page: Page): Promise<string[]> {
  const shown: string[] = [];
  await page.exposeFunction("answerShown", (text: string) => shown.push(text));
  await page.addInitScript({
    content: `new MutationObserver(() => {
      const answers = [...document.querySelectorAll('[data-type="ai"]')];
      if (answers.length > 0) answerShown(answers.map((answer) => answer.textContent).join("|"));
    }).observe(document, { subtree: true, childList: true, characterData: true });`,
  });
  return shown;
}

/** A page that talks to an assistant; its thread will be in its URL. */
async function openPage(
  name: string,
  assistant: string,
  more: Record<string, string> = {},
): Promise<Page> {
  const page = await context.newPage();
  const api = agent.agent_url;
  await page.goto(
    `${pages.url}/${name}?${new URLSearchParams({ api, key: stack.api_key, assistant, ...more })}`,
  );
  return page;
}

const type = (page: Page, text: string) => page.getByLabel("Message").fill(text);
const press = (page: Page, name: string) => page.getByRole("button", { name, exact: true }).click();
const answer = (page: Page) => page.locator('[data-type="ai"]');
const settled = (page: Page) => page.locator('[data-loading="false"]').waitFor();
const threadOf = (page: Page) => new URL(page.url()).searchParams.get("thread") ?? "";

async function sendText(page: Page, text: string) {
  await type(page, text);
  await press(page, "Send");
}

/** Until the page, while it is loading, shows all that comes before the bar. */
const atBar = (page: Page) =>
  page
    .locator('[data-loading="true"] [data-type="ai"]')
    .getByText(BEFORE_BAR, { exact: true })
    .waitFor();

const stopped = (thread_id: string) =>
  until(
    "The end of the run",
    async () => (await client(agent.id).runs.list(thread_id)).map(({ status }) => status),
    ([status]) => status === "interrupted",
  );

const passBar = (page: Page) =>
  client(agent.id).store.putItem(["gates"], threadOf(page), { open: true });

describe.each(["1.15", "2.0.0"])("useStream of the SDK %s in a browser's page", (line) => {
  const open = (assistant: string, more: Record<string, string> = {}) =>
    openPage(line, assistant, more);

  test("shows an answer as it is spelled, and continues after a reload with nothing lost or doubled", async () => {
    const page = await open("streamsCharacters");
    const shown = await watch(page);
    await page.reload();
    await sendText(page, ALPHABET);
    await atBar(page);
    await page.reload();
    await atBar(page);
    await passBar(page);
    await settled(page);
    expect(await page.locator("li").allInnerTexts()).toEqual([ALPHABET, ALPHABET]);
    expect(shown.filter((text) => !ALPHABET.startsWith(text))).toEqual([]);
    expect(new Set(shown).size).toBeGreaterThan(5);
    const { runs } = client(agent.id);
    expect(await runs.list(threadOf(page))).toMatchObject([{ status: "success" }]);
    await page.reload();
    await page.locator("li").nth(1).waitFor();
    expect(await page.locator("li").allInnerTexts()).toEqual([ALPHABET, ALPHABET]);
  });

  test("stops a run", async () => {
    const page = await open("streamsCharacters");
    await sendText(page, ENDLESS);
    await answer(page).getByText(BEFORE_BAR).waitFor();
    await press(page, "Stop");
    await settled(page);
    const { threads } = client(agent.id);
    const thread_id = threadOf(page);
    await stopped(thread_id);
    // A stop does not wait for the thread, whose status is read from the agent's last checkpoint.
    await until(
      "The thread",
      async () => (await threads.get(thread_id)).status,
      (status) => status !== "busy",
    );
    await sendText(page, "once more");
    await answer(page).getByText("once more").waitFor();
    await settled(page);
  });

  test("shows an interrupt, also after a reload, and takes the answer to it", async () => {
    const page = await open("interruptsAfterText");
    const question = page.getByLabel("Question");
    await sendText(page, "hello");
    await question.getByText("shall I?").waitFor();
    await settled(page);
    await page.reload();
    await question.getByText("shall I?").waitFor();
    await type(page, "yes");
    await press(page, "Answer");
    await answer(page).getByText("you said yes").waitFor();
    await settled(page);
    const texts = ["hello", "one moment", "you said yes"];
    expect(await page.locator("li").allInnerTexts()).toEqual(texts);
    await question.getByText("shall I?").waitFor({ state: "detached" });
    expect(await client(agent.id).threads.get(threadOf(page))).toMatchObject({ status: "idle" });
  });

  test("draws a component of the agent, which is alive", async () => {
    const page = await open("pushesUi");
    await sendText(page, "Oslo");
    const card = page.getByRole("region", { name: "Weather" });
    await card.getByText("21 degrees, warm").waitFor();
    await card.getByRole("heading", { name: "Oslo" }).waitFor();
    await card.getByText("2 messages").waitFor();
    await card.getByRole("button").click();
    await card.getByText("Liked 1 times").waitFor();
    // Its style sheet hides it.
    await card.getByText("without styles").waitFor({ state: "hidden" });
    expect(await card.getByText("without styles").count()).toBe(1);
    await page.reload();
    await card.getByText("21 degrees, warm").waitFor();
  });
});

describe("useStream in a browser's page", () => {
  const open = (assistant: string, more: Record<string, string> = {}) =>
    openPage("1.15", assistant, more);

  test("that goes away stops its run, unless it announced its return", async () => {
    const page = await open("streamsCharacters", { reconnect: "no" });
    await sendText(page, ENDLESS);
    await answer(page).getByText(BEFORE_BAR).waitFor();
    await press(page, "Stop");
    await settled(page);
    const { threads } = client(agent.id);
    const thread_id = threadOf(page);
    await stopped(thread_id);
    // A stop does not wait for the thread, whose status is read from the agent's last checkpoint.
    await until(
      "The thread",
      async () => (await threads.get(thread_id)).status,
      (status) => status !== "busy",
    );
    await sendText(page, "once more");
    await answer(page).getByText("once more").waitFor();
    await settled(page);
  });

  test("a second tab joins the run of the first and shows the same", async () => {
    const page = await open("streamsCharacters");
    await sendText(page, ALPHABET);
    await atBar(page);
    const other = await open("streamsCharacters", { thread: threadOf(page) });
    await other.getByText(ALPHABET).waitFor();
    await type(other, (await page.getByLabel("Run").textContent()) ?? "");
    await press(other, "Join");
    await atBar(other);
    await passBar(page);
    await Promise.all([settled(page), settled(other)]);
    for (const tab of [page, other]) {
      expect(await tab.locator("li").allInnerTexts()).toEqual([ALPHABET, ALPHABET]);
    }
  });

  test("shows what the server refuses", async () => {
    const page = await open("nobody");
    await sendText(page, "hello");
    await page
      .getByRole("alert")
      .getByText(/No assistant found for "nobody"/)
      .waitFor();
    // The browser and the hook each write this down.
    expect(complaints.splice(0)).not.toEqual([]);
  });
});

describe.each(["sse", "websocket"])("the SDK's StreamController over %s", (transport) => {
  const open = (assistant: string, more: Record<string, string> = {}) =>
    openPage("controller", assistant, { transport, ...more });

  test("shows an answer as it is spelled, in a second tab too, and after a reload of both", async () => {
    const page = await open("streamsCharacters");
    await sendText(page, ALPHABET);
    await atBar(page);
    const other = await open("streamsCharacters", { thread: threadOf(page) });
    await atBar(other);
    await page.reload();
    await atBar(page);
    await passBar(page);
    for (const tab of [page, other]) {
      await answer(tab).getByText(ALPHABET, { exact: true }).waitFor();
      await settled(tab);
      expect(await tab.locator("li").allInnerTexts()).toEqual([ALPHABET, ALPHABET]);
    }
    expect(await client(agent.id).runs.list(threadOf(page))).toMatchObject([{ status: "success" }]);
    await other.reload();
    await other.locator("li").nth(1).waitFor();
    expect(await other.locator("li").allInnerTexts()).toEqual([ALPHABET, ALPHABET]);
  });

  test("stops a run", async () => {
    const page = await open("streamsCharacters");
    await sendText(page, ENDLESS);
    await answer(page).getByText(BEFORE_BAR).waitFor();
    await press(page, "Stop");
    await settled(page);
    await stopped(threadOf(page));
    await sendText(page, "once more");
    await answer(page).getByText("once more").waitFor();
    await settled(page);
  });

  test("shows an interrupt, also after a reload, and takes the answer to it", async () => {
    const page = await open("interruptsAfterText");
    const question = page.getByLabel("Question").getByText("shall I?");
    await sendText(page, "hello");
    await question.waitFor();
    await page.reload();
    await question.waitFor();
    await type(page, "yes");
    await press(page, "Answer");
    await answer(page).getByText("you said yes").waitFor();
    await settled(page);
    const texts = ["hello", "one moment", "you said yes"];
    expect(await page.locator("li").allInnerTexts()).toEqual(texts);
    await question.waitFor({ state: "detached" });
  });
});
