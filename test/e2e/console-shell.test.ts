import type { Browser, Locator } from "playwright-core";
import { afterAll, beforeAll, expect } from "vitest";
import { startBrowser } from "../support/node/browser.ts";
import { browserTest as test } from "../support/node/browser-test.ts";
import { type ConsolePage, consoleUrl, openConsole, violationsOf } from "./support/console.ts";
import { createBody, exampleUrl, uniqueName } from "./support/deployments.ts";
import { request } from "./support/http.ts";
import { stack } from "./support/stack.ts";

let browser: Browser;
beforeAll(async () => {
  browser = await startBrowser();
});
afterAll(() => browser?.close());

async function withConsole(
  path: string,
  options: Parameters<typeof openConsole>[2],
  work: (opened: ConsolePage) => Promise<void>,
) {
  const opened = await openConsole(browser, path, options);
  try {
    await work(opened);
    expect(opened.problems).toEqual([]);
    expect(opened.strangers).toEqual([]);
  } finally {
    await opened.context.close();
  }
}

async function createKey(role: string): Promise<{ id: string; key: string }> {
  const { status, body } = await request<{ id: string; key: string }>("POST", "/api/v1/api-key", {
    role,
  });
  expect(status).toBe(200);
  return body;
}

test("the root leads a browser to the sign-in, and a wrong key is refused in words", async () => {
  const context = await browser.newContext();
  const page = await context.newPage();
  await page.goto(`${stack.base_url}/`);
  await page.getByText("The local stack prints its first key").waitFor();
  expect(await page.getByText("Sign in to continue where you were.").count()).toBe(0);
  await page.locator("input[name=key]:focus").waitFor();
  await page.getByLabel("API key").fill("lsv2_sk_wrong");
  await page.getByRole("button", { name: "Sign in" }).click();
  expect(await page.getByRole("alert").textContent()).toContain("Invalid API key.");
  expect(await violationsOf(page)).toEqual([]);
  await context.close();
});

test("a deep link survives the sign-in, a reload and the back button", async () => {
  const context = await browser.newContext();
  const page = await context.newPage();
  await page.goto(consoleUrl("/deployments?q=none-of-this-name"));
  await page.getByLabel("API key").fill(stack.api_key);
  await page.getByRole("button", { name: "Sign in" }).click();
  const empty = page.getByRole("heading", { name: /No deployment has “none-of-this-name”/ });
  await empty.waitFor();
  await page.reload();
  await empty.waitFor();
  await page.keyboard.press("g");
  await page.keyboard.press("o");
  await page.getByRole("heading", { name: "Overview" }).waitFor();
  await page.goBack();
  await empty.waitFor();
  await context.close();
});

test("no script of the page reads the session, and the key is nowhere in the browser", async () => {
  await withConsole("", {}, async ({ page, context }) => {
    const seen = await page.evaluate(
      "JSON.stringify([document.cookie, { ...localStorage }, { ...sessionStorage }])",
    );
    expect(seen).not.toMatch(/lsv2_|hds_/);
    const [cookie] = await context.cookies();
    expect(cookie).toMatchObject({
      name: "__Host-heddle",
      httpOnly: true,
      secure: true,
      sameSite: "Strict",
    });
  });
});

test("a session whose key is revoked returns to the sign-in, and then to the same page", async () => {
  const { id, key } = await createKey("editor");
  await withConsole("/deployments", { key }, async ({ page }) => {
    await page.getByRole("heading", { name: "Deployments" }).first().waitFor();
    await request("DELETE", `/api/v1/api-key/${id}`);
    await page.getByText("Sign in to continue where you were.").waitFor();
    await page.getByLabel("API key").fill(stack.api_key);
    await page.getByRole("button", { name: "Sign in" }).click();
    await page.getByRole("heading", { name: "Deployments" }).first().waitFor();
    expect(page.url()).toBe(consoleUrl("/deployments"));
  });
});

test("a viewer has no button to create a deployment, and reads which role may", async () => {
  const { key } = await createKey("viewer");
  await withConsole("/deployments/new", { key }, async ({ page }) => {
    await page.getByText("Editors and admins create deployments.").waitFor();
    await page.goto(consoleUrl("/deployments"));
    await page.getByRole("searchbox", { name: "Name" }).waitFor();
    expect(await page.getByRole("link", { name: "New deployment" }).count()).toBe(0);
  });
});

test("each icon of the narrow rail shows its name beside it, under the pointer and on focus", async () => {
  const narrow = await openConsole(browser, "/deployments", { width: 1000 });
  const rail = narrow.page.locator(".slim .rail");
  await rail.getByRole("link", { name: "Deployments", exact: true }).waitFor();
  const controls = await rail.locator("a:not(.opt), button:not(.opt)").all();
  expect(controls.length).toBeGreaterThan(12);
  for (const control of controls) {
    const name = control.locator(".txt");
    expect(await name.textContent()).not.toBe("");
    expect((await name.boundingBox())?.width).toBe(1);
    await control.hover();
    await expect.poll(() => isBeside(control)).toBe(true);
    await narrow.page.mouse.move(500, 400);
  }
  const deployments = rail.getByRole("link", { name: "Deployments", exact: true });
  await deployments.press("Shift+Tab");
  await narrow.page.keyboard.press("Tab");
  await expect.poll(() => isBeside(deployments)).toBe(true);
  expect(await rail.locator(".who").getAttribute("title")).toMatch(/, admin$/);
  await narrow.context.close();
});

/** Whether the name of an icon is right of it, at its height, and in front of the page. */
async function isBeside(control: Locator): Promise<boolean> {
  const [icon, name] = [await control.boundingBox(), await control.locator(".txt").boundingBox()];
  if (icon === null || name === null || name.width < 20) return false;
  const middle = (box: typeof icon) => box.y + box.height / 2;
  return name.x > icon.x + icon.width && Math.abs(middle(icon) - middle(name)) < 3;
}

test("times are in UTC until the person chooses the own zone, which the browser remembers", async () => {
  // The audit log is empty on a new stack.
  await createKey("viewer");
  await withConsole("/settings/audit-log", { zone: "Asia/Kolkata" }, async ({ page }) => {
    const time = page.locator("time").first();
    const at = Date.parse((await time.getAttribute("datetime")) ?? "");
    const minuteOf = (ms: number) => new Date(ms).toISOString().slice(11, 16);
    await expect.poll(() => time.textContent()).toContain(minuteOf(at));
    const menu = page.getByRole("button", { name: "Workspace" });
    await menu.click();
    await page.getByRole("button", { name: "Times in UTC" }).click();
    await expect.poll(() => time.textContent()).toContain(minuteOf(at + 5.5 * 60 * 60 * 1000));
    await page.reload();
    await menu.click();
    await page.getByRole("button", { name: "Times in local time" }).click();
    await expect.poll(() => time.textContent()).toContain(minuteOf(at));
  });
});

test("places and deployments are reached by keyboard alone", async () => {
  await withConsole("", {}, async ({ page }) => {
    await page.keyboard.press("Control+k");
    await page.getByRole("combobox").fill("deploym");
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { name: "Deployments" }).first().waitFor();
    for (const [key, name] of [
      ["t", "Threads"],
      ["m", "Monitor"],
      ["e", "Exports"],
      ["d", "Deployments"],
    ] as const) {
      await page.keyboard.press("g");
      await page.keyboard.press(key);
      await page.locator("h1:focus", { hasText: name }).waitFor({ state: "attached" });
    }
    await page.keyboard.press("?");
    const keys = page.getByRole("dialog", { name: "Keys" });
    await keys.waitFor();
    await page.keyboard.press("Escape");
    await keys.waitFor({ state: "hidden" });
    await page.getByRole("searchbox", { name: "Name" }).waitFor();
    await page.keyboard.press("/");
    await page.keyboard.type("abc");
    await page.waitForURL(/q=abc/);
  });
});

test("the palette opens what has a pasted id, and searches the traces for any other text", async () => {
  const absent = createBody(uniqueName("absent"), exampleUrl("chat"), { repo_ref: "absent" });
  const { id } = (await request<{ id: string }>("POST", "/v2/deployments", absent)).body;
  await withConsole("", {}, async ({ page }) => {
    const jump = async (text: string) => {
      await page.keyboard.press("Control+k");
      await page.getByRole("combobox", { name: "Search or jump to" }).fill(text);
    };
    await jump(crypto.randomUUID());
    await page.getByText("Nothing in this workspace has this id.").waitFor();
    await page.keyboard.press("Escape");
    await jump(id);
    await page.getByRole("option", { name: "Deployment" }).waitFor();
    await page.keyboard.press("Enter");
    await page.waitForURL(consoleUrl(`/deployments/${id}`));
    await jump('quota "exceeded"');
    await page.getByRole("option", { name: 'Search traces for "quota "exceeded""' }).waitFor();
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { name: "Traces" }).first().waitFor();
    expect(new URL(page.url()).searchParams.get("q")).toBe('search("quota \\"exceeded\\"")');
    const [tab] = await Promise.all([
      page.context().waitForEvent("page"),
      jump("new depl").then(() => page.keyboard.press("Control+Enter")),
    ]);
    await tab.waitForURL(consoleUrl("/deployments/new"));
  });
});

test("a dialog that Enter closes stays closed, and its opener has the focus again", async () => {
  await request("POST", "/api/v1/sessions", { name: uniqueName("focus") });
  // In the text of no thread that waits for a person: other tests of the lane leave some.
  const word = uniqueName("word");
  await withConsole("/traces", {}, async ({ page }) => {
    const dialogs = page.getByRole("dialog");
    const jump = page.getByRole("button", { name: "Search or jump to" });
    await page.getByRole("combobox", { name: "Project" }).waitFor();
    await jump.click();
    await page.getByRole("combobox", { name: "Search or jump to" }).fill(word);
    const found = new RegExp(`^Search traces for "${word}" in .+, last 24 h$`);
    await page.getByRole("option", { name: found }).waitFor();
    await page.keyboard.press("Enter");
    await page.waitForURL(/q=search/);
    expect(await dialogs.count()).toBe(0);
    expect(await page.locator(":focus").count()).toBe(1);
    const custom = page.getByRole("button", { name: "Custom" });
    await custom.click();
    await dialogs.getByLabel(/^From/).waitFor();
    // The second one is the repetition of a key that is held.
    await page.keyboard.down("Enter");
    await page.keyboard.down("Enter");
    await page.keyboard.up("Enter");
    await page.waitForURL(/from=/);
    expect(await dialogs.count()).toBe(0);
    await page.locator("button:focus", { hasText: "to now" }).waitFor();
  });
});
