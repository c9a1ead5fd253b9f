import { mkdtemp, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { expect, test } from "vitest";
import { bundleComputedImports } from "../../src/control-plane/builds/bundle/requires.ts";

const PACKAGE = `#!/usr/bin/env node
const PACKAGES = { a: "node:path", b: "node:os", c: "lacking" };
export const load = async (name) => { const config = { package: PACKAGES[name] }; return await import(config.package); };
export const own = { import: (name) => name };
export const called = own.import(PACKAGES.a);
`;

async function evaluate(text: string) {
  const file = join(await mkdtemp(join(tmpdir(), "heddle-imports-")), "package.mjs");
  await writeFile(file, text);
  return import(pathToFileURL(file).href) as Promise<{
    load: (name: string) => Promise<Record<string, unknown>>;
    called: string;
  }>;
}

test("a computed import finds the dependencies that its file names, and no others", async () => {
  const { load, called } = await evaluate(bundleComputedImports(PACKAGE, ["node:path", "unnamed"]));
  expect(await load("a")).toHaveProperty("join");
  for (const name of ["b", "c"]) {
    await expect(load(name)).rejects.toMatchObject({
      code: "ERR_MODULE_NOT_FOUND",
      message: expect.stringMatching(/Cannot find package '(node:os|lacking)'/),
    });
  }
  expect(called).toBe("node:path");
});

test.each([
  ["has literal imports only", 'export const a = () => import("node:path");'],
  ["names no dependency", "export const a = (name) => import(name);"],
])("a file that %s is not changed", (_why, text) => {
  expect(
    bundleComputedImports(text, ["node:path", "unnamed"].slice(text.includes('"') ? 0 : 1)),
  ).toBe(text);
});
