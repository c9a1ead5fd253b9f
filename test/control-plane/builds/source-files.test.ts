import { gzipSync } from "node:zlib";
import { packTar } from "modern-tar";
import { expect, test } from "vitest";
import { withOwnNames } from "../../../src/control-plane/builds/bundle/source-text.ts";
import { SOURCE_LIMITS } from "../../../src/control-plane/builds/limits.ts";
import { unpackSource } from "../../../src/control-plane/builds/source/archive.ts";
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

test("hidden folders are read, but for those of tools and for hidden files", () => {
  const read = [".agents/skills/a/SKILL.md", "apps/.opencode/agents/planner.md"];
  const unread = [".env", ".agents/.env", ".github/ISSUE.md", "apps/.yarn/state.json"];
  const files = new Map([...read, ...unread].map((path) => [path, new Uint8Array()]));
  const log = { warn: () => {} };
  expect(Object.keys(filesToRead(log, { ...emptyTree(), files }))).toEqual(read);
});

test("a script's first line does not keep import.meta from its file", () => {
  const text = withOwnNames("/agent.ts", "#!/usr/bin/env node\nuse(import.meta.url);");
  expect(text).toContain('__heddle_url="file:///bundle/agent.ts"');
  expect(text.split("\n")).toEqual([
    expect.stringMatching(/\/\/\/usr\/bin\/env node$/),
    "use(import.meta.url);",
  ]);
});

test("module.parent of a required file is set", () => {
  const module = { exports: "" };
  const text = 'module.exports = module.parent ? "a library" : "a program";';
  new Function("module", withOwnNames("/node_modules/a/index.js", text))(module);
  expect(module.exports).toBe("a library");
});

test("a file where the runtime has its modules is named as not readable", () => {
  const files = new Map(["rt/data.json", "data.json"].map((path) => [path, new Uint8Array()]));
  const warnings: string[] = [];
  const log = { warn: (message: string) => void warnings.push(message) };
  expect(Object.keys(filesToRead(log, { ...emptyTree(), files }))).toEqual(["data.json"]);
  expect(warnings).toEqual([expect.stringContaining("rt/data.json")]);
});

test("installed files of an upload are left out, also large ones and links that leave it", async () => {
  const size = SOURCE_LIMITS.file_bytes + 1;
  const linkname = "/usr/lib/module.js";
  const tar = await packTar([
    { header: { name: "node_modules/a/large.bin", size }, body: new Uint8Array(size) },
    { header: { name: "node_modules/.bin/a", type: "symlink", size: 0, linkname } },
    { header: { name: ".git/objects/pack/b.pack", size }, body: new Uint8Array(size) },
    { header: { name: "agent.ts", size: 2 }, body: "ok" },
  ]);
  const { tree, warnings } = await unpackSource(new Blob([gzipSync(tar)]).stream(), null);
  expect([...tree.files.keys()]).toEqual(["agent.ts"]);
  expect(warnings).toEqual([expect.stringContaining("2 files in node_modules and .git")]);
});
