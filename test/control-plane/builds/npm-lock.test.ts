import { expect, test } from "vitest";
import { findPackage, reachable } from "../../../src/control-plane/builds/locks/install-tree.ts";
import { readNpmLock } from "../../../src/control-plane/builds/locks/npm-lock.ts";

const REGISTRY = "https://registry.test/npm";

function lock(packages: Record<string, object>, folder = "") {
  const text = JSON.stringify({ lockfileVersion: 3, packages });
  return readNpmLock(folder, text, REGISTRY);
}

test.each([
  [undefined, "https://registry.test/npm/@a/b/-/b-1.0.0.tgz"],
  [
    "https://registry.other.test/@a/b/-/b-1.0.0.tgz",
    "https://registry.test/npm/@a/b/-/b-1.0.0.tgz",
  ],
  [
    "https://proxy.test/repo/@a%2fb/-/b-1.0.0.tgz",
    "https://registry.test/npm/@a%2fb/-/b-1.0.0.tgz",
  ],
  ["https://files.test/b.tgz", "https://files.test/b.tgz"],
])("resolved %j is fetched from %s", (resolved, url) => {
  const install = lock({
    "node_modules/@a/b": { version: "1.0.0", ...(resolved ? { resolved } : {}) },
  });
  expect(install.packages.get("/node_modules/@a/b")).toMatchObject({ name: "@a/b", url });
});

test.each(["git+ssh://git@host/a/b.git#123", "file:../b"])("%s is not installed", (resolved) => {
  const { packages } = lock({ "node_modules/b": { version: "1.0.0", resolved } });
  expect(packages.get("/node_modules/b")?.refusal).toMatch(
    /"b" comes from .*not from git or files/,
  );
});

test("without a registry only packages with a resolved URL can be fetched", () => {
  const read = (entry: object) =>
    readNpmLock(
      "",
      JSON.stringify({ packages: { "node_modules/a": { version: "1.0.0", ...entry } } }),
      "",
    );
  const resolved = "https://registry.other.test/a/-/a-1.0.0.tgz";
  expect(read({ resolved }).packages.get("/node_modules/a")?.url).toBe(resolved);
  expect(() => read({})).toThrow(/has no npm registry: set the variable REGISTRY_URL/);
});

test("a lockfile of version 1 is refused with what to do", () => {
  const text = JSON.stringify({ lockfileVersion: 1, dependencies: {} });
  expect(() => readNpmLock("", text, REGISTRY)).toThrow(
    /has version 1; Heddle reads versions 2 and 3/,
  );
});

test("aliases, nested versions, links and native addons", () => {
  const install = lock(
    {
      "node_modules/a": { version: "1.0.0", name: "real-a" },
      "node_modules/b": { version: "1.0.0", dependencies: { c: "2" } },
      "node_modules/b/node_modules/c": { version: "2.0.0" },
      "node_modules/c": { version: "1.0.0" },
      "node_modules/own": { resolved: "packages/own", link: true },
      "packages/own": { version: "0.0.0" },
      "node_modules/fast-linux": { version: "1.0.0", optional: true, os: ["linux"] },
      "node_modules/plain-optional": { version: "1.0.0", optional: true },
    },
    "app",
  );
  expect(install.packages.get("/app/node_modules/a")?.url).toContain("/real-a/-/real-a-1.0.0.tgz");
  expect(findPackage(install, "/app/node_modules/b", "c")).toBe(
    "/app/node_modules/b/node_modules/c",
  );
  expect(findPackage(install, "/app/src", "c")).toBe("/app/node_modules/c");
  expect(findPackage(install, "/app", "own")).toBe("/app/packages/own");
  expect(findPackage(install, "/app", "fast-linux")).toBeNull();
  expect(findPackage(install, "/app", "plain-optional")).not.toBeNull();
  expect([...reachable(install, "/app", ["b"], () => false)].sort()).toEqual([
    "/app/node_modules/b",
    "/app/node_modules/b/node_modules/c",
  ]);
});

test("packages that the repository bundles are installed, those in a tarball are not", () => {
  const { packages } = lock({
    "": { bundleDependencies: ["a"] },
    "node_modules/a": {
      version: "1.0.0",
      resolved: "https://registry.npmjs.org/a/-/a-1.0.0.tgz",
      integrity: "sha512-a",
      inBundle: true,
    },
    "node_modules/a/node_modules/b": { version: "1.0.0", integrity: "sha512-b", inBundle: true },
    "node_modules/c": { version: "1.0.0", bundleDependencies: ["d"] },
    "node_modules/c/node_modules/d": { version: "1.0.0", inBundle: true },
  });
  expect([...packages.keys()]).toEqual([
    "/node_modules/a",
    "/node_modules/a/node_modules/b",
    "/node_modules/c",
  ]);
});

test.each([
  ["an encoded scope that repeats", `https://h/@${"a%2f".repeat(40_000)}`],
  ["a scope that repeats", `https://h/@${"a/@".repeat(400_000)}`],
  ["no text", 7],
])("resolved with %s is refused with a short message", (_, resolved) => {
  const read = () => lock({ "node_modules/b": { version: "1.0.0", resolved } });
  expect(read).toThrow(/"resolved" of "b" must be a text of at most 2048 characters/);
});

test("resolved of 2048 characters that nearly matches is refused", () => {
  for (const part of ["a%2f", "/@a", "/-/", "@"]) {
    const resolved = `https://h/@${part.repeat(2000)}`.slice(0, 2048);
    const { packages } = lock({ "node_modules/b": { version: "1.0.0", resolved } });
    expect(packages.get("/node_modules/b")?.refusal).toMatch(/"b" comes from/);
  }
});

test("a lockfile has limits on its size, depth, entries and paths", () => {
  const deep = `{"packages":{"node_modules/a":${'{"a":'.repeat(5000)}1${"}".repeat(5000)}}}`;
  expect(() => readNpmLock("", deep, REGISTRY)).toThrow(/nested more than 500 levels/);
  expect(() => readNpmLock("", " ".repeat(9 * 1024 * 1024), REGISTRY)).toThrow(
    /it may have 8.4 MB/,
  );
  const entries = Array.from({ length: 20_001 }, (_, n) => [`node_modules/a${n}`, {}]);
  expect(() => lock(Object.fromEntries(entries))).toThrow(/at most 20000/);
  const path = "node_modules/a/".repeat(100);
  expect(() => lock({ [path]: { version: "1.0.0" } })).toThrow(/a path of 1500 characters/);
  expect(() => lock({ "node_modules/a": [] })).toThrow(/must be an object/);
});
