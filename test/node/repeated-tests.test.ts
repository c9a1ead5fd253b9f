// A check that runs failed test files again, with a Vitest whose results are scripted.
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { runTests } from "../../scripts/check/tests.ts";

const FLAKY = "test/flaky.test.ts";
const BROKEN = "test/broken.test.ts";

/** Two files with two tests each. One has an error outside of tests, only in the first run. */
const VITEST = `#!${process.execPath}
const { writeFileSync } = require("node:fs");
const json = process.argv.find((arg) => arg.startsWith("--outputFile.json=")).slice(18);
const test = (fullName, status) => ({ fullName, status, failureMessages: [] });
const fileOf = (name, ...assertionResults) => ({ name: process.cwd() + "/" + name, status: "passed", message: "", assertionResults });
writeFileSync(json, JSON.stringify({ testResults: [
  fileOf("${FLAKY}", test("one", "passed"), test("two", "passed")),
  fileOf("${BROKEN}", test("one", "passed"), test("two", "failed")),
] }));
if (!json.includes("again")) {
  console.log(" Unhandled Rejection ⎯⎯⎯\\nError: late\\nThis error originated in \\"${FLAKY}\\" test file.");
}
process.exit(1);
`;

let dir: string;
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), "heddle-check-"));
  await writeFile(join(dir, "vitest"), VITEST, { mode: 0o755 });
  vi.stubEnv("PATH", `${dir}${delimiter}${process.env.PATH}`);
});
afterEach(async () => {
  vi.unstubAllEnvs();
  await rm(dir, { recursive: true, force: true });
});

test("an error outside of tests that does not repeat makes its file flaky, not failed", async () => {
  const { passed, failures, flaky } = await runTests("node", join(dir, "node.log"));
  expect(failures.map(({ file }) => file)).toEqual([BROKEN]);
  expect(flaky.map(({ file }) => file)).toEqual([FLAKY]);
  expect(passed).toBe(3);
});
