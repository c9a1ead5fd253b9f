// `npm run screenshots`: pictures of each page of the console for docs/console.md, from a local stack with examples.
// Usage: npm run screenshots -- [--only overview,threads] [--out docs/console]
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { startStack } from "../local/stack.ts";
import { startBrowser } from "../test/support/node/browser.ts";
import { accessOf } from "../test/support/node/console/access.ts";
import { CONSOLE_PATHS } from "../test/support/node/console/pages.ts";
import { seedWorld } from "../test/support/node/console/seed.ts";
import { PLAIN } from "../test/support/node/console/words.ts";
import { readOptions } from "./options.ts";

const { values } = readOptions({
  only: { type: "string", default: "" },
  out: { type: "string", default: "docs/console" },
});
const QUALITY = 80;
/** Time for charts and lists to be drawn after a change of size. */
const SETTLED_MS = 400;
const SIZES = [
  { width: 1280, height: 800 },
  { width: 390, height: 844 },
];

async function main(): Promise<void> {
  const dir = await mkdtemp(join(tmpdir(), "heddle-screenshots-"));
  const stack = await startStack({ dir, quiet: true });
  const browser = await startBrowser();
  try {
    const access = accessOf(stack.info);
    const world = await seedWorld(access, PLAIN);
    const page = await browser.newPage();
    const { base_url, tenant_id, api_key } = stack.info;
    await page.goto(`${base_url}/console/login`);
    await page.getByLabel("API key").waitFor();
    await shoot(page, "login");
    await page.getByLabel("API key").fill(api_key);
    await page.getByRole("button", { name: "Sign in" }).click();
    await page.getByRole("navigation", { name: "Breadcrumb" }).waitFor();
    for (const { name, path, ready } of CONSOLE_PATHS) {
      if (!isWanted(name)) continue;
      await page.goto(`${base_url}/console/w/${tenant_id}${path(world)}`);
      await page.locator(ready).first().waitFor();
      await page.locator("#main .sk").first().waitFor({ state: "detached" });
      await shoot(page, name);
    }
  } finally {
    await browser.close();
    await stack.stop();
    await rm(dir, { recursive: true, force: true });
  }
}

function isWanted(name: string): boolean {
  return values.only === "" || values.only.split(",").includes(name);
}

/** Writes four pictures: light and dark, wide and narrow. */
async function shoot(page: Page, name: string): Promise<void> {
  if (!isWanted(name)) return;
  const folder = join(values.out, name);
  await mkdir(folder, { recursive: true });
  const session = await page.context().newCDPSession(page);
  for (const size of SIZES) {
    await page.setViewportSize(size);
    for (const colorScheme of ["light", "dark"] as const) {
      await page.emulateMedia({ colorScheme });
      await page.waitForTimeout(SETTLED_MS);
      const shot = { format: "webp", quality: QUALITY } as const;
      const { data } = await session.send("Page.captureScreenshot", shot);
      const file = join(folder, `${colorScheme}-${size.width}.webp`);
      await writeFile(file, Buffer.from(data, "base64"));
    }
  }
  await page.setViewportSize({ width: 1280, height: 800 });
  await session.detach();
}

await main();
