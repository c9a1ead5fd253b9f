import { expect, test } from "vitest";
import type { BuildLog } from "../../../src/control-plane/builds/build-log.ts";
import { readNpmLock } from "../../../src/control-plane/builds/locks/npm-lock.ts";
import { warnOfAdvisories } from "../../../src/control-plane/builds/packages/advisories.ts";

function warningsOf(packages: [path: string, version: string][]): string[] {
  const entries = packages.map(([path, version]) => [`node_modules/${path}`, { version }]);
  const lock = JSON.stringify({ lockfileVersion: 3, packages: Object.fromEntries(entries) });
  const install = readNpmLock("", lock, "https://registry.test");
  const warnings: string[] = [];
  const log = {
    warn: (message: string) => warnings.push(message),
  } as Partial<BuildLog> as BuildLog;
  warnOfAdvisories(log, install, install.packages.keys());
  return warnings;
}

const CORE = "@langchain/core";

test.each([
  [CORE, "0.1.0", "0.3.80"],
  [CORE, "0.3.79", "0.3.80"],
  [CORE, "1.0.0-alpha.4", "1.1.8"],
  [CORE, "1.1.7", "1.1.8"],
  ["langchain", "0.3.36", "0.3.37"],
  ["langchain", "1.2.2", "1.2.3"],
])("a build with %s %s logs its advisory and the version to update to", (name, version, fixed) => {
  expect(warningsOf([[name, version]])).toEqual([
    `${name} ${version} has a known deserialization vulnerability, ` +
      `GHSA-r399-636x-v7f6 (CVE-2025-68665). Update it to ${fixed} or newer.`,
  ]);
});

test("a build with an old serializer of checkpoints logs the pull request that fixed it", () => {
  expect(warningsOf([["@langchain/langgraph-checkpoint", "1.0.0"]])).toEqual([
    expect.stringContaining("langchain-ai/langgraphjs#2709. Update it to 1.1.5"),
  ]);
});

test.each([
  [CORE, "0.3.80"],
  [CORE, "1.1.8"],
  [CORE, "1.2.13"],
  [CORE, "not a version"],
  ["langchain", "1.2.3"],
  ["@langchain/langgraph-checkpoint", "1.1.5"],
  ["core", "1.1.0"],
])("a build with %s %s logs no advisory", (name, version) => {
  expect(warningsOf([[name, version]])).toEqual([]);
});

test("one version in two folders is logged once, two versions are logged apart", () => {
  const warnings = warningsOf([
    [CORE, "1.1.0"],
    [`a/node_modules/${CORE}`, "1.1.0"],
    [`b/node_modules/${CORE}`, "0.3.1"],
  ]);
  const versions = warnings.map((text) => text.split(" ", 2).join(" "));
  expect(versions.toSorted()).toEqual([`${CORE} 0.3.1`, `${CORE} 1.1.0`]);
});
