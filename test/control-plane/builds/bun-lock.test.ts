import { expect, test } from "vitest";
import { readBunLock } from "../../../src/control-plane/builds/locks/bun-lock.ts";
import { findPackage } from "../../../src/control-plane/builds/locks/install-tree.ts";

const TARBALL = "https://files.test/ms@2.tgz";

const read = (packages: Record<string, unknown>, fields: object = {}) =>
  readBunLock(
    "mono",
    JSON.stringify({ lockfileVersion: 1, packages, ...fields }),
    "https://registry.test",
  );

test("bun's dependency on a folder is a link, with the packages inside", () => {
  const install = read({
    tool: ["tool@file:vendor/tool", { dependencies: { ms: "2.0.0" } }],
    "tool/ms": ["ms@2.0.0", "", {}, "sha512-AA=="],
  });
  expect([...install.packages.keys()]).toEqual(["/mono/vendor/tool/node_modules/ms"]);
  expect(findPackage(install, "/mono", "tool")).toBe("/mono/vendor/tool");
});

test("bun's package of a tarball comes from its address", () => {
  const { packages } = read({ ms: [`ms@${TARBALL}`, { dependencies: { a: "1" } }, "sha512-AA=="] });
  const item = packages.get("/mono/node_modules/ms");
  expect(item).toMatchObject({ url: TARBALL, integrity: "sha512-AA==", needs: ["a"] });
});

test.each(["github:a/b#c0ffee", "git+ssh://git@h/a/b#c0ffee", "file:ms.tgz", "link:ms"])(
  "bun's package from %s is refused where it is needed",
  (version) => {
    const { packages } = read({ ms: [`ms@${version}`, {}, "a-b-c0ffee"] });
    const refusal = expect.stringContaining('mono/bun.lock: "ms" comes from');
    expect(packages.get("/mono/node_modules/ms")).toMatchObject({ refusal });
  },
);

test("a patch of bun is refused where it is needed", () => {
  const patchedDependencies = { "ms@2.0.0": "patches/ms.patch" };
  const entries = (version: string) => ({ ms: [`ms@${version}`, "", {}, "sha512-AA=="] });
  const refusalOf = (version: string) =>
    read(entries(version), { patchedDependencies }).packages.get("/mono/node_modules/ms")?.refusal;
  expect(refusalOf("2.0.0")).toMatch(/^mono\/bun.lock cannot be used: ms@2.0.0 has a patch, which/);
  expect(refusalOf("2.0.1")).toBeUndefined();
});

test("bun's package of one system is left out only when it is optional", () => {
  const libsql = ["libsql@0.4.7", "", { os: ["linux"], cpu: "x64" }, "sha512-AA=="];
  const workspaces = (kind: string) => ({ workspaces: { "": { [kind]: { libsql: "0.4.7" } } } });
  const names = (kind: string) => [...read({ libsql }, workspaces(kind)).packages.keys()];
  expect(names("dependencies")).toEqual(["/mono/node_modules/libsql"]);
  expect(names("optionalDependencies")).toEqual([]);
});
