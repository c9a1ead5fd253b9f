import { expect, test } from "vitest";
import type { Disk } from "../../../src/control-plane/builds/bundle/disk.ts";
import {
  resolveExports,
  resolveImports,
} from "../../../src/control-plane/builds/bundle/exports.ts";
import { createResolver } from "../../../src/control-plane/builds/bundle/resolver.ts";
import { aliasesOf, readTsConfig } from "../../../src/control-plane/builds/bundle/tsconfig.ts";

function resolver(files: Record<string, string>, provided: string[] = [], missing: string[] = []) {
  const read = (path: string) => {
    const text = files[path];
    return text === undefined ? null : new TextEncoder().encode(text);
  };
  const disk: Disk = {
    read,
    has: (path) => path in files,
    manifest: (directory) => {
      const text = files[`${directory}/package.json`];
      return text === undefined ? null : JSON.parse(text);
    },
    isInstalled: (directory) => `${directory}/package.json` in files,
    isMissing: (directory) => missing.includes(directory),
    link: () => null,
  };
  const tsconfig = readTsConfig("", (path) => files[`/${path}`] ?? null);
  const isBuiltin = (name: string) => name === "fs";
  return createResolver({ disk, tsconfig, provided: new Set(provided), isBuiltin });
}

const FILES = {
  "/src/agent.ts": "",
  "/src/tools/index.ts": "",
  "/src/view.tsx": "",
  "/lib.js": "",
  "/tsconfig.json": '{"compilerOptions": {"paths": {"@/*": ["./src/*"]}}}',
  "/node_modules/plain/package.json": '{"main": "lib/main"}',
  "/node_modules/plain/lib/main.js": "",
  "/node_modules/plain/extra.js": "",
  "/node_modules/modern/package.json":
    '{"name": "modern", "sideEffects": false, "exports": {".": {"workerd": "./w.js", "default": "./d.js"}, "./x/*": "./x/*.js"}, "imports": {"#own": "./own.js"}}',
  "/node_modules/modern/w.js": "",
  "/node_modules/modern/d.js": "",
  "/node_modules/modern/own.js": "",
  "/node_modules/modern/x/y.js": "",
  "/node_modules/modern/node_modules/plain/package.json": "{}",
  "/node_modules/modern/node_modules/plain/index.js": "",
};

test.each([
  ["./tools", "/src", "/src/tools/index.ts"],
  ["./agent.js", "/src", "/src/agent.ts"],
  ["./view.js", "/src", "/src/view.tsx"],
  ["./lib", "", "/lib.js"],
  ["../lib.js", "/src", "/lib.js"],
  ["/src/agent.ts", "", "/src/agent.ts"],
  ["@/agent", "/src/tools", "/src/agent.ts"],
  ["plain", "/src", "/node_modules/plain/lib/main.js"],
  ["plain/extra", "/src", "/node_modules/plain/extra.js"],
  ["plain", "/node_modules/modern", "/node_modules/modern/node_modules/plain/index.js"],
  ["modern", "/src", "/node_modules/modern/w.js"],
  ["modern/x/y", "/src", "/node_modules/modern/x/y.js"],
  ["modern", "/node_modules/modern/x", "/node_modules/modern/w.js"],
  ["#own", "/node_modules/modern/x", "/node_modules/modern/own.js"],
])("%s from %j is %s", (specifier, directory, path) => {
  expect(resolver(FILES)(specifier, directory, "import")).toMatchObject({ type: "file", path });
});

test("a package without side effects says so", () => {
  const resolve = resolver(FILES);
  expect(resolve("modern", "/src", "import")).toMatchObject({ has_side_effects: false });
  expect(resolve("plain", "/src", "import")).toMatchObject({ has_side_effects: true });
});

test.each([
  ["./gone", 'Could not resolve "./gone": there is no such file'],
  ["modern/inside", 'its package.json exports no "./inside"'],
  ["#nothing", 'no package.json maps it under "imports"'],
])("%s is an error", (specifier, text) => {
  const resolved = resolver(FILES)(specifier, "/src", "import");
  expect(resolved).toEqual({ type: "error", text: expect.stringContaining(text) });
});

test.each([
  ["gone", 'the package "gone" is not installed'],
  ["@scope/gone/sub", 'the package "@scope/gone" is not installed'],
])("%s is absent", (specifier, text) => {
  const resolved = resolver(FILES)(specifier, "/src", "import");
  expect(resolved).toEqual({ type: "absent", text: expect.stringContaining(text) });
});

test("builtins, prebuilt packages and packages to fetch are told apart", () => {
  const resolve = resolver(FILES, ["/node_modules/zod"], ["/node_modules/late"]);
  expect(resolve("fs", "/src", "import")).toEqual({ type: "builtin", name: "fs" });
  expect(resolve("node:fs", "/src", "import")).toEqual({ type: "builtin", name: "node:fs" });
  expect(resolve("zod/v4", "/src", "import")).toEqual({ type: "provided", specifier: "zod/v4" });
  expect(resolve("late", "/src", "import")).toEqual({
    type: "missing",
    directory: "/node_modules/late",
  });
});

test.each([
  ["./main.js", ".", "import", "./main.js"],
  [{ import: "./a.mjs", require: "./a.cjs" }, ".", "require", "./a.cjs"],
  [{ browser: "./b.js", default: "./d.js" }, ".", "import", "./d.js"],
  [{ ".": { workerd: { import: "./w.js" }, default: "./d.js" } }, ".", "import", "./w.js"],
  [{ ".": { workerd: { require: "./w.js" }, default: "./d.js" } }, ".", "import", "./d.js"],
  [{ "./*": "./dist/*.js", "./a/*": "./other/*.js" }, "./a/b", "import", "./other/b.js"],
  [{ "./*": "./dist/*.js", "./private/*": null }, "./private/x", "import", null],
  [[{ unknown: "./u.js" }, "./list.js"], ".", "import", "./list.js"],
  [{ "./a": "./a.js" }, ".", "import", null],
  [{ browser: "./b.js", node: "./n.js" }, ".", "import", "./b.js"],
  [{ browser: { types: "./b.d.ts" }, node: { require: "./n.cjs" } }, ".", "require", "./n.cjs"],
  [{ node: "./n.js" }, ".", "browser_import", null],
] as const)("exports %j of %s by %s", (map, subpath, kind, expected) => {
  expect(resolveExports(map, subpath, kind)).toBe(expected);
});

test("imports may name another package", () => {
  expect(
    resolveImports({ "#dep": { workerd: "dep", default: "./polyfill.js" } }, "#dep", "import"),
  ).toBe("dep");
});

test("tsconfig follows extends, and the nearest file wins", () => {
  const files: Record<string, string> = {
    "apps/a/tsconfig.json": '{"extends": "../../base", "compilerOptions": {"jsx": "react-jsx"}}',
    "base.json":
      '{"compilerOptions": {"jsx": "preserve", "jsxImportSource": "hono/jsx", "baseUrl": "./src", "paths": {"~": ["./all.ts"]}}}',
  };
  const config = readTsConfig("apps/a", (path) => files[path] ?? null);
  expect(config.compilerOptions).toEqual({ jsx: "react-jsx", jsxImportSource: "hono/jsx" });
  expect(aliasesOf(config, "~")).toEqual(["src/all.ts"]);
  expect(aliasesOf(config, "deep/x")).toEqual(["src/deep/x"]);
});
