import { execFile } from "node:child_process";
import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test } from "vitest";
import { bundleScript } from "../../scripts/build/script.ts";
import { buildBuilderModules, buildMainModules } from "../../scripts/build/steps.ts";

const run = promisify(execFile);

let dir: string;
beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), "heddle-bundle-"));
  await Promise.all([buildMainModules(), buildBuilderModules()]);
});
afterAll(() => rm(dir, { recursive: true, force: true }));

/** Every file of a bundle with its content. Maps name the folder, and wrangler adds a README. */
async function filesOf(folder: string): Promise<Record<string, string>> {
  const names = (await readdir(folder)).filter((name) => !/\.map$|^README/.test(name));
  const files = names.map(async (name) => [name, await readFile(join(folder, name), "latin1")]);
  return Object.fromEntries(await Promise.all(files));
}

test.each([
  ["wrangler.toml", "src/index.ts", "index.js"],
  ["wrangler.builder.toml", "src/builder.ts", "builder.js"],
])("the local stack runs the bundle that wrangler deploys from %s", async (config, main, entry) => {
  const [ours, theirs] = [join(dir, `ours-${entry}`), join(dir, `wrangler-${entry}`)];
  const args = ["deploy", "--dry-run", "-c", config, "--env=", "--outdir", theirs];
  // wrangler defines NODE_ENV as its own, which is "test" here and "production" when it is not set.
  const env = { ...process.env, NODE_ENV: "production", WRANGLER_SEND_METRICS: "false" };
  await Promise.all([
    bundleScript(main, ours, entry),
    run("node_modules/.bin/wrangler", args, { env }),
  ]);
  const wanted = await filesOf(theirs);
  expect(Object.keys(wanted).length).toBeGreaterThan(2);
  const found = await filesOf(ours);
  expect(Object.keys(found).sort()).toEqual(Object.keys(wanted).sort());
  for (const [name, content] of Object.entries(wanted)) {
    expect(found[name] === content, name).toBe(true);
  }
});
