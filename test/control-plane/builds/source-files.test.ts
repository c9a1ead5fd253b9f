import { expect, test } from "vitest";
import { withOwnNames } from "../../../src/control-plane/builds/bundle/source-text.ts";
import { filesToRead } from "../../../src/control-plane/builds/source/bundle-files.ts";
import { emptyTree } from "../../../src/control-plane/builds/tree.ts";

test("files whose names contain the word lock are read, lockfiles are not", () => {
  const read = ["prompts/blocklist.txt", "blocks/intro.md", "clock.json", "locks/notes.yaml"];
  const lockfiles = ["a/package-lock.json", "npm-shrinkwrap.json", "pnpm-lock.yaml", "b/yarn.lock"];
  const files = new Map(
    [...read, ...lockfiles, "bun.lock"].map((path) => [path, new Uint8Array()]),
  );
  const warnings: string[] = [];
  const log = { warn: (message: string) => void warnings.push(message) };
  expect(Object.keys(filesToRead(log, { ...emptyTree(), files }))).toEqual(read);
  expect(warnings).toEqual([]);
});

test("a script's first line does not keep import.meta from its file", () => {
  const text = withOwnNames("/agent.ts", "#!/usr/bin/env node\nuse(import.meta.url);");
  expect(text).toContain('__heddle_url="file:///bundle/agent.ts"');
  expect(text.split("\n")).toEqual([
    expect.stringMatching(/\/\/\/usr\/bin\/env node$/),
    "use(import.meta.url);",
  ]);
});
