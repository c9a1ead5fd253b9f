import { gzipSync } from "node:zlib";
import { packTar } from "modern-tar";
import { expect, test } from "vitest";
import { readConfig } from "../../../src/control-plane/builds/config/config.ts";
import { SOURCE_LIMITS } from "../../../src/control-plane/builds/limits.ts";
import { workspacesOf } from "../../../src/control-plane/builds/locks/workspaces.ts";
import { createDisk } from "../../../src/control-plane/builds/resolve/disk.ts";
import { createResolver } from "../../../src/control-plane/builds/resolve/resolver.ts";
import { unpackSource } from "../../../src/control-plane/builds/source/archive.ts";
import { followLinks } from "../../../src/control-plane/builds/source/links.ts";
import { stateTypes, typeScriptOf } from "../../../src/control-plane/builds/types/state-types.ts";

const FILES = {
  "langgraph.json": '{"graphs": {"a": "./app/graph.ts:graph"}}',
  "shared/graph.ts": "graph",
  "shared/lib/tool.ts": "tool",
  "shared/logo.bin": "",
  "packages/core/package.json": '{"name": "core"}',
};

/** Unpacks an archive of FILES and `links` in the folder that hosts put around them. */
async function unpack(links: Record<string, string>, type: "symlink" | "link" = "symlink") {
  const files = Object.entries(FILES).map(([name, body]) => ({
    header: { name: `repo-1/${name}`, size: body.length },
    body,
  }));
  const others = Object.entries(links).map(([name, linkname]) => ({
    header: { name: `repo-1/${name}`, size: 0, type, linkname },
  }));
  const stream = new Blob([gzipSync(await packTar([...files, ...others]))]).stream();
  return followLinks(await unpackSource(stream, null));
}

function resolve(tree: Parameters<typeof createDisk>[0], specifier: string, directory: string) {
  const install = { packages: new Map(), links: new Map() };
  return createResolver({
    disk: createDisk(tree, install, new Map()),
    tsconfig: { compilerOptions: {}, base: null, paths: {} },
    provided: new Set(),
    isBuiltin: () => false,
  })(specifier, directory, "import");
}

test("links to files and folders are followed, and modules have one path", async () => {
  const { tree, warnings } = await unpack({ "app/graph.ts": "../shared/graph.ts", lib: "shared" });
  expect(warnings).toEqual([]);
  expect(readConfig(tree, "langgraph.json").graphs.a?.path).toBe("app/graph.ts");
  expect(tree.others.has("lib/logo.bin")).toBe(true);
  const path = "/shared/graph.ts";
  expect(resolve(tree, "/app/graph.ts", "")).toMatchObject({ type: "file", path });
  expect(resolve(tree, "../lib/graph.js", "/app")).toMatchObject({ type: "file", path });
  expect(resolve(tree, "./lib/lib/tool", "")).toMatchObject({ path: "/shared/lib/tool.ts" });
});

test("links to links, to the root and of tar are followed", async () => {
  const { tree } = await unpack({ "app/all": "..", "app/one": "two/lib", "app/two": "all/shared" });
  expect(tree.files.has("app/all/shared/graph.ts")).toBe(true);
  expect(tree.files.has("app/one/tool.ts")).toBe(true);
  const hard = await unpack({ "app/graph.ts": "repo-1/shared/graph.ts" }, "link");
  expect(hard.tree.files.has("app/graph.ts")).toBe(true);
});

test("links in linked folders are followed, and those back to a folder around them are not", async () => {
  const inner = { "packages/core/lib": "../../shared/lib", "packages/core/up": ".." };
  const links = { a: "packages/core", "vendor/b": "../all", all: "packages" };
  const { tree, warnings } = await unpack({
    ...inner,
    ...links,
    "only/links/lib": "../../a/lib",
    o: "only",
  });
  expect(warnings).toEqual([]);
  const paths = [...tree.files.keys()].filter((path) => path.endsWith("tool.ts"));
  expect(paths).toEqual(
    expect.arrayContaining(["a/lib/tool.ts", "all/core/lib/tool.ts", "vendor/b/core/lib/tool.ts"]),
  );
  expect(tree.files.has("o/links/lib/tool.ts")).toBe(true);
  expect(tree.files.has("a/up/core/package.json")).toBe(true);
  expect(tree.files.has("a/up/core/up/core/package.json")).toBe(false);
  const path = "/shared/lib/tool.ts";
  expect(resolve(tree, "./vendor/b/core/lib/tool", "")).toMatchObject({ type: "file", path });
});

test("links in linked folders without an end leave room for the other ones", async () => {
  const names = Array.from({ length: 12 }, (_, n) => n);
  const doubled = names.flatMap((n) => ["x", "y"].map((name) => [`d${n}/${name}`, `../d${n + 1}`]));
  const { tree, warnings } = await unpack({ ...Object.fromEntries(doubled), d12: "shared" });
  expect(tree.files.has("d12/lib/tool.ts")).toBe(true);
  expect(tree.files.has("d11/x/lib/tool.ts")).toBe(true);
  expect(tree.files.size).toBeLessThanOrEqual(20_000);
  expect(warnings).toEqual([expect.stringContaining("Left out links beyond 1000 links")]);
});

test("links in a circle and links to nothing are left out with a warning", async () => {
  const links = { a: "b", b: "a/c", "app/graph.ts": "../gone.ts", "node_modules/x": "../shared" };
  const { tree, warnings } = await unpack(links);
  expect(tree.files.size + tree.others.size).toBe(Object.keys(FILES).length);
  expect(warnings).toEqual([
    "Left out links that lead to no file of the source: a, b, app/graph.ts",
  ]);
  expect(() => readConfig(tree, "langgraph.json")).toThrow(
    'graph "a" is in app/graph.ts, a link to gone.ts, which does not exist',
  );
});

test("a link of an archive to a file beside the repository's folder leads to nothing", async () => {
  const { tree, warnings } = await unpack({
    "app/a.ts": "../../shared/graph.ts",
    top: "../shared",
  });
  expect([...tree.aliases]).toEqual([]);
  expect(warnings).toEqual([
    expect.stringMatching(/lead to no file of the source: app\/a.ts, top/),
  ]);
  expect(resolve(tree, "/app/a.ts", "")).toMatchObject({ type: "error" });
});

test("a link in linked folders whose path is too long is left out", async () => {
  const long = "a/".repeat(SOURCE_LIMITS.path_characters / 4);
  const { tree, warnings } = await unpack({
    [`b/${long}c`]: `${"../".repeat(257)}shared`,
    [`d/${long}e`]: `${"../".repeat(257)}b`,
  });
  expect(
    [...tree.files.keys()].every(({ length }) => length <= SOURCE_LIMITS.path_characters),
  ).toBe(true);
  expect(warnings).toEqual([expect.stringContaining("1024 characters of a path")]);
});

test("links that lead to more files than a source may have are left out", async () => {
  const links = Object.fromEntries(Array.from({ length: 5000 }, (_, n) => [`l${n}`, "."]));
  const { tree, warnings } = await unpack(links);
  expect(tree.files.size).toBeLessThanOrEqual(20_000);
  expect(warnings[0]).toContain("Left out links");
});

test("a type is known although a link leads to its file", async () => {
  const { tree } = await unpack({ lib: "shared", again: "lib" });
  const source = "type Plan = { a: string }; Annotation.Root({ plan: Annotation<Plan> });";
  for (const path of tree.files.keys()) {
    if (path.endsWith("graph.ts")) tree.files.set(path, new TextEncoder().encode(source));
  }
  expect([...typeScriptOf(tree)]).toEqual([source, "tool"]);
  expect(stateTypes(typeScriptOf(tree)).plan).toMatchObject({ properties: { a: {} } });
});

test("a linked package of the repository has its own folder", async () => {
  const { tree } = await unpack({ "vendor/core": "../packages/core" });
  expect(workspacesOf(tree).folderOf("core")).toBe("/packages/core");
});
