import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, expect, inject } from "vitest";
import { startBrowser } from "../support/node/browser.ts";
import { browserTest as test } from "../support/node/browser-test.ts";
import { violationsOf } from "./support/console.ts";
import { stack } from "./support/stack.ts";
import { createWorkspace } from "./support/workspaces.ts";

const s3 = inject("s3");

let browser: Browser;
let page: Page;
let key: string;
beforeAll(async () => {
  const [started, headers] = await Promise.all([startBrowser(), createWorkspace()]);
  browser = started;
  key = headers["x-api-key"] ?? "";
  page = await browser.newPage({ viewport: { width: 1280, height: 800 } });
});
afterAll(() => browser?.close());

const button = (name: string | RegExp) => page.getByRole("button", { name, exact: true });
const link = (name: string | RegExp) => page.getByRole("link", { name, exact: true });
const field = (label: string) => page.getByLabel(label, { exact: true });
const sections = () => page.getByRole("navigation", { name: "Sections" });
const messages = () => page.getByRole("region", { name: "Messages" });
const shown = (word: string) => page.locator("h2.mono ~ .badge", { hasText: word });

async function send(text: string) {
  await field("Write to the agent").click();
  await page.keyboard.type(text);
  await button("Send").click();
}

test("a newcomer goes from the sign-in to a rollback without a terminal", async () => {
  await signIn();
  await deploy();
  await chat();
  await openTrace();
  await exportTraces();
  await rollBack();
  expect(await violationsOf(page)).toEqual([]);
});

async function signIn() {
  await page.goto(stack.base_url);
  await field("API key").fill(key);
  await button("Sign in").click();
  await page.getByRole("heading", { name: "Nothing is deployed yet" }).waitFor();
}

async function deploy() {
  await button("Deploy the example").click();
  await page.getByRole("log", { name: "Build log" }).getByText("Fetched examples/chat").waitFor();
  await shown("Serving").waitFor();
  await link("Try it in the playground").waitFor();
  const lines = (await page.getByText(/^\d+ lines$/).textContent()) ?? "";
  await page.reload();
  await page.getByText(lines).waitFor();
}

async function chat() {
  await link("Try it in the playground").click();
  await send("What is 6 * 7?");
  await messages().getByText("Done: 42").waitFor();
  await page.getByRole("img", { name: /model done, tools done/ }).waitFor();
  await send("Please refund order 1042 with 19.90");
  const card = page.getByRole("article", { name: "refund_order waits for a person" });
  await card.getByText('"1042"').waitFor();
  await card.getByRole("button", { name: "Approve refund_order" }).click();
  await messages().getByText("Done: Refunded 19.90 for order 1042.").waitFor();
  await page.getByText("A person approved refund_order", { exact: true }).waitFor();
}

async function openTrace() {
  await link("Open thread").click();
  const runs = page.getByRole("region", { name: "Runs" });
  await runs.getByRole("link", { name: "run 3" }).click();
  const spans = page.getByRole("tree", { name: "Spans of the trace" });
  await spans.getByText("refund_order").first().click();
  await page.getByRole("region", { name: "Chosen span" }).getByText("1042").first().waitFor();
}

async function exportTraces() {
  await sections().getByRole("link", { name: "Exports" }).click();
  await link("New export").first().click();
  await page.locator("aside dd", { hasText: /^[1-9]\d*$/ }).waitFor();
  await field("Bucket").fill(s3.bucket);
  await field("Prefix").fill("newcomer");
  await page.getByLabel("Region").fill(s3.region);
  await page.getByLabel("Endpoint").fill(s3.endpoint);
  await field("Access key id").fill(s3.access_key_id);
  await field("Secret access key").fill(s3.secret_access_key);
  await page.getByText("May write", { exact: true }).waitFor();
  await button("Start export").click();
  await page.getByText("Completed", { exact: true }).waitFor();
  const rows = page.getByRole("region", { name: "First rows" });
  await rows.getByRole("cell", { name: "refund_order", exact: true }).first().waitFor();
}

async function rollBack() {
  await sections().getByRole("link", { name: "Deployments" }).click();
  await link("chat").click();
  await button("Build again").click();
  await page.locator("a.rev").nth(1).waitFor();
  await page.locator("a.rev", { hasText: "Serving" }).first().waitFor();
  await page.locator("a.rev", { hasText: "Replaced" }).click();
  await button("Roll back").click();
  await button("Keep as it is").click();
  await button("Roll back").click();
  await button("Roll back now").click();
  await page.getByText(/^Rolled back to \w{7} #\d+ in /).waitFor();
  await shown("Serving").waitFor();
  await button("Move forward again").click();
  await page.getByText(/^Moved forward in /).waitFor();
}
