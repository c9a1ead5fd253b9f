// A person answers the question that was shown, and no other one.
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, expect } from "vitest";
import { startBrowser } from "../support/node/browser.ts";
import { browserTest as test } from "../support/node/browser-test.ts";
import { client } from "./support/clients.ts";
import { consoleUrl, openConsole } from "./support/console.ts";
import { until } from "./support/stack.ts";
import { deployTestAgent } from "./support/test-agent.ts";

let browser: Browser;
let graphs: string;
beforeAll(async () => {
  browser = await startBrowser();
  graphs = await deployTestAgent();
});
afterAll(() => browser?.close());

async function waitingThread(): Promise<string> {
  const { threads, runs } = client(graphs);
  const { thread_id } = await threads.create();
  await runs.wait(thread_id, "interrupts_twice", { input: {} });
  return thread_id;
}

async function openThread(thread_id: string): Promise<Page> {
  const { page } = await openConsole(browser);
  await page.goto(consoleUrl(`/threads/${graphs}/${thread_id}`));
  await page.getByText("first?").waitFor();
  return page;
}

async function answer(page: Page): Promise<void> {
  await page.getByRole("textbox", { name: "Answer", exact: true }).fill("yes");
  await page.getByRole("button", { name: "Answer", exact: true }).click();
}

async function questionOf(thread_id: string): Promise<unknown> {
  const { interrupts } = await client(graphs).threads.get(thread_id);
  return Object.values(interrupts).flat()[0]?.value;
}

test("of two people who answer one question, the second answers no other", async () => {
  const thread_id = await waitingThread();
  const [first, second] = [await openThread(thread_id), await openThread(thread_id)];
  // Its page stays as it is, as on a slow connection.
  const isRead = (method: string) => method === "GET";
  await second.route("**/agents/**", (route) =>
    isRead(route.request().method()) ? route.abort() : route.continue(),
  );
  await answer(first);
  await until(
    "The second question",
    () => questionOf(thread_id),
    (question) => question === "second?",
  );
  await answer(second);
  await second.getByText("the question was answered elsewhere").waitFor();
  await second.unroute("**/agents/**");
  await second.getByText("second?").waitFor();
  expect(await questionOf(thread_id)).toBe("second?");
  await answer(second);
  await until(
    "The end",
    () => questionOf(thread_id),
    (question) => question === undefined,
  );
  const { values } = await client(graphs).threads.get(thread_id);
  expect(values).toMatchObject({ log: ["yes", "yes"] });
});

test("the question that waits stays in view when the window gets smaller", async () => {
  const page = await openThread(await waitingThread());
  await page.setViewportSize({ width: 1280, height: 380 });
  const numberOf = (script: string) => page.evaluate(`(() => { ${script} })()`);
  const box = `const box = document.querySelector('[aria-label="Messages"]');`;
  const hidden = () => numberOf(`${box} return box.scrollHeight - box.clientHeight`);
  const below = () => numberOf(`${box} return box.scrollHeight - box.clientHeight - box.scrollTop`);
  await expect.poll(hidden).toBeGreaterThan(0);
  await expect.poll(below).toBeLessThan(2);
});

test("Esc closes the palette and does not stop the run behind it", async () => {
  const { page } = await openConsole(browser);
  const { threads, runs } = client(graphs);
  const { thread_id } = await threads.create();
  await runs.create(thread_id, "stalls", { input: { delay_ms: 60_000 } });
  const address = `/playground?deployment=${graphs}&assistant=stalls&thread=${thread_id}`;
  await page.goto(consoleUrl(address));
  const stop = page.getByRole("button", { name: "Stop", exact: true });
  await stop.waitFor();
  await page.keyboard.press("Control+k");
  await page.getByRole("dialog").waitFor();
  await page.keyboard.press("Escape");
  await page.getByRole("dialog").waitFor({ state: "hidden" });
  expect(await stop.isVisible()).toBe(true);
  expect((await threads.get(thread_id)).status).toBe("busy");
  await page.keyboard.press("Escape");
  await stop.waitFor({ state: "hidden" });
});
