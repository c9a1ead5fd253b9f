import { expect, test } from "vitest";
import { findPackage } from "../../../src/control-plane/builds/locks/install-tree.ts";
import { readPnpmLock } from "../../../src/control-plane/builds/locks/pnpm-lock.ts";

const REGISTRY = "https://registry.test/npm";

const read = (lock: object, folder = "", project = "") => {
  const text = JSON.stringify({ lockfileVersion: "9.0", ...lock });
  return readPnpmLock(folder, text, { registry_url: REGISTRY, project });
};

const MS = { resolution: { integrity: "sha512-AA==" } };
const shared = (version: string) => ({ dependencies: { "@x/shared": { version } } });

/** An injected package with a workspace package and one of the registry, as pnpm 12 writes them. */
const INJECTED = {
  importers: {
    "packages/app": shared("file:packages/shared(ms@2.1.3)"),
    "packages/core": {},
    "packages/shared": { dependencies: { "@x/core": { version: "link:../core" } } },
  },
  packages: {
    "@x/shared@file:packages/shared": {
      resolution: { directory: "packages/shared", type: "directory" },
    },
    "ms@2.1.3": MS,
    "tool@1.0.0": MS,
  },
  snapshots: {
    "@x/shared@file:packages/shared(ms@2.1.3)": {
      dependencies: { "@x/core": "link:packages/core", ms: "2.1.3" },
    },
    "ms@2.1.3": {},
    "tool@1.0.0": { dependencies: { "@x/core": "link:packages/core" } },
  },
};

test.each(["", "mono"])("injected packages of pnpm are folders of %j", (folder) => {
  const root = folder && `/${folder}`;
  const install = read(INJECTED, folder, `${root}/packages/app`);
  expect([...install.packages.keys()]).toEqual([]);
  expect(findPackage(install, `${root}/packages/app`, "@x/shared")).toBe(`${root}/packages/shared`);
  expect(findPackage(install, `${root}/packages/shared`, "@x/core")).toBe(`${root}/packages/core`);
});

test("a folder outside the workspaces has the dependencies of its snapshot", () => {
  const { packages, snapshots } = INJECTED;
  const importers = { ".": shared("file:packages/shared(ms@2.1.3)") };
  const install = read({ packages, snapshots, importers });
  expect([...install.packages.keys()]).toEqual(["/node_modules/ms"]);
  expect(findPackage(install, "/packages/shared", "@x/core")).toBe("/packages/core");
});

test("a folder of pnpm 8 is not fetched", () => {
  const install = read({
    lockfileVersion: "6.0",
    ...shared("file:shared"),
    packages: {
      "file:shared": {
        resolution: { directory: "shared", type: "directory" },
        name: "@x/shared",
        dependencies: { ms: "2.1.3" },
      },
      "/ms@2.1.3": MS,
    },
  });
  expect([...install.packages.keys()]).toEqual(["/node_modules/ms"]);
  expect(findPackage(install, "", "@x/shared")).toBe("/shared");
});

test("a link in a package of the registry starts at the lockfile", () => {
  const { packages, snapshots } = INJECTED;
  const importers = { "packages/app": { dependencies: { tool: { version: "1.0.0" } } } };
  const install = read({ packages, snapshots, importers }, "mono", "/mono/packages/app");
  expect(findPackage(install, "/mono/node_modules/tool", "@x/core")).toBe("/mono/packages/core");
});

test("a package with a patch of a range of versions is refused", () => {
  const install = read({
    patchedDependencies: { "ms@^2.0.0": { hash: "a1b2", path: "patches/ms.patch" } },
    importers: { ".": { dependencies: { ms: { version: "2.1.3(patch_hash=a1b2)" } } } },
    packages: { "ms@2.1.3": MS },
    snapshots: { "ms@2.1.3(patch_hash=a1b2)": {} },
  });
  const refusals = [...install.packages.values()].map(({ refusal }) => refusal);
  expect(refusals).toEqual([expect.stringContaining("ms has a patch")]);
});
