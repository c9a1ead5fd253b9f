import { readFile } from "node:fs/promises";
import type { Browser, BrowserContext, Page } from "playwright-core";
import { stack } from "./stack.ts";

type Options = { key?: string; scheme?: "light" | "dark"; width?: number; zone?: string };

export type ConsolePage = {
  context: BrowserContext;
  page: Page;
  /** Errors that the page threw, and refusals of its policy. */
  problems: string[];
  /** Requests that left the origin. */
  strangers: string[];
};

type Violation = { id: string; nodes: { html: string }[] };

const AXE = "node_modules/axe-core/axe.min.js";
const PHONE_PX = 760;

/** Signs in and opens a page below `/console/w/{workspace}`. */
export async function openConsole(
  browser: Browser,
  path = "",
  { key = stack.api_key, scheme = "light", width = 1280, zone = "UTC" }: Options = {},
): Promise<ConsolePage> {
  const height = width < PHONE_PX ? 844 : 800;
  const context = await browser.newContext({
    ...{ colorScheme: scheme, viewport: { width, height }, timezoneId: zone },
  });
  const page = await context.newPage();
  const opened: ConsolePage = { context, page, problems: [], strangers: [] };
  page.on("pageerror", (error) => opened.problems.push(String(error)));
  page.on("console", (message) => {
    if (/Content Security Policy|TrustedHTML/.test(message.text())) {
      opened.problems.push(message.text());
    }
  });
  page.on("request", (request) => {
    const { origin } = new URL(request.url());
    if (!["null", stack.base_url].includes(origin)) opened.strangers.push(request.url());
  });
  await signIn(page, key);
  if (path !== "") await page.goto(consoleUrl(path));
  return opened;
}

export async function signIn(page: Page, key = stack.api_key): Promise<void> {
  await page.goto(`${stack.base_url}/console/login`);
  await page.getByLabel("API key").fill(key);
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.getByRole("navigation", { name: "Breadcrumb" }).waitFor();
}

export function consoleUrl(path: string): string {
  return `${stack.base_url}/console/w/${stack.tenant_id}${path}`;
}

/** Returns what axe finds on the page, in short. Without rules it checks all. */
export async function violationsOf(page: Page, ...rules: string[]): Promise<string[]> {
  if (!(await page.evaluate("'axe' in window"))) await page.evaluate(await readFile(AXE, "utf8"));
  const found = (await page.evaluate(
    `axe.run(${JSON.stringify(rules.length > 0 ? { runOnly: rules } : {})})
      .then(({ violations }) => violations)`,
  )) as Violation[];
  return found.flatMap(({ id, nodes }) => nodes.map(({ html }) => `${id}: ${html.slice(0, 200)}`));
}
