import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { glob, readFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { PHRASE } from "../../scripts/house/words.ts";
import { CONSOLE_PATHS } from "../support/node/console/pages.ts";

const run = promisify(execFile);
const pages = new Map<string, string>();
const { stdout } = await run("git", [
  "ls-files",
  "--cached",
  "--others",
  "--exclude-standard",
  "*.md",
]);
for (const path of stdout.trim().split("\n")) pages.set(path, await readFile(path, "utf8"));

const withoutCode = (text: string) =>
  text.replace(/^```[\s\S]*?^```/gm, "").replace(/`[^`\n]*`/g, "");

/** The anchors of a page's headings, as GitHub makes them. */
function anchorsOf(page: string): string[] {
  const headings = (pages.get(page) ?? "")
    .replace(/^```[\s\S]*?^```/gm, "")
    .matchAll(/^#+ (.+)$/gm);
  return [...headings].map(([, heading = ""]) =>
    heading
      .toLowerCase()
      .replace(/[^\p{L}\p{N}\s_-]/gu, "")
      .replaceAll(" ", "-"),
  );
}

function isBroken(page: string, target: string): boolean {
  const [path = "", anchor] = target.split("#");
  const file = path === "" ? page : join(dirname(page), path);
  if (!existsSync(file)) return true;
  return anchor !== undefined && !anchorsOf(file).includes(anchor);
}

test("every relative link of a page leads to a file and to one of its headings", () => {
  const links = [...pages].flatMap(([page, text]) =>
    [...withoutCode(text).matchAll(/\]\(([^)\s]+)\)/g)].map(([, target = ""]) => ({
      page,
      target,
    })),
  );
  const relative = links.filter(({ target }) => !/^[a-z]+:/.test(target));
  expect(relative.length).toBeGreaterThan(30);
  expect(relative.filter(({ page, target }) => isBroken(page, target))).toEqual([]);
});

async function matches(pattern: string): Promise<boolean> {
  for await (const _path of glob(pattern)) return true;
  return false;
}

const ROOTS = ["bench", "docs", "examples", "local", "migrations", "scripts", "src", "test"];

test("every path of the repository in a page exists", async () => {
  const named = [...pages].flatMap(([page, text]) =>
    [...text.matchAll(/`((?:[\w.*-]+\/)+[\w.*-]*)`/g)].map(([, path = ""]) => ({ page, path })),
  );
  const own = named.filter(({ path }) => ROOTS.includes(path.split("/")[0] ?? ""));
  expect(own.length).toBeGreaterThan(50);
  const missing: typeof own = [];
  for (const { page, path } of own) {
    const isBeside = existsSync(join(dirname(page), path));
    if (!isBeside && !(await matches(path))) missing.push({ page, path });
  }
  expect(missing).toEqual([]);
});

test("pages use the words of the field", () => {
  const names = /\[[^\]]*\]\([^)]*\.test\.ts\)/g;
  const found = [...pages].flatMap(([page, text]) => {
    const lines = withoutCode(text).replace(names, "").split("\n");
    return lines.filter((line) => PHRASE.test(line)).map((line) => `${page}: ${line}`);
  });
  expect(found).toEqual([]);
});

test("each table of D1 is in the page of storage", async () => {
  const tables: string[] = [];
  for await (const path of glob("migrations/*.sql")) {
    const created = (await readFile(path, "utf8")).matchAll(/CREATE TABLE `(\w+)`/g);
    tables.push(...[...created].map(([, name = ""]) => name));
  }
  expect(tables.length).toBeGreaterThan(20);
  const page = pages.get("docs/reference/storage.md") ?? "";
  expect(tables.filter((name) => !page.includes(`\`${name}\``))).toEqual([]);
});

test("each page of the console has pictures in light and dark, wide and narrow", () => {
  const page = pages.get("docs/console.md") ?? "";
  const files = ["login", ...CONSOLE_PATHS.map(({ name }) => name)].flatMap((name) =>
    ["light-1280", "dark-1280", "light-390", "dark-390"].map((kind) => `${name}/${kind}.webp`),
  );
  expect(files.filter((file) => !existsSync(`docs/console/${file}`))).toEqual([]);
  expect(files.filter((file) => !page.includes(`src="console/${file}"`))).toEqual([]);
});
