import { expect, test } from "vitest";
import type { PackageFiles } from "../../../src/control-plane/builds/packages/package-files.ts";
import { createDisk, splitPackagePath } from "../../../src/control-plane/builds/resolve/disk.ts";
import { emptyTree } from "../../../src/control-plane/builds/tree.ts";

const bytes = (text: string) => new TextEncoder().encode(text);

function packaged(files: Record<string, string>): PackageFiles {
  const map = new Map(Object.entries(files).map(([path, text]) => [path, bytes(text)]));
  return { bytes: 0, files: () => map };
}

const tree = emptyTree();
tree.files.set("src/a.ts", bytes("a"));
tree.others.add("logo.png");

const files = createDisk(
  tree,
  {
    packages: new Map([
      [
        "/node_modules/late",
        {
          path: "/node_modules/late",
          name: "late",
          version: "1.0.0",
          url: "https://registry.test/late.tgz",
          integrity: undefined,
          needs: [],
        },
      ],
    ]),
    links: new Map([["/node_modules/own", "/packages/own"]]),
  },
  new Map([
    [
      "/node_modules/@a/b",
      packaged({
        "package.json": '{"name": "@a/b"}',
        "index.js": "b",
        "node_modules/inner/package.json": '{"name": "inner"}',
        "node_modules/inner/index.js": "inner",
      }),
    ],
  ]),
);

test.each([
  ["/src/a.ts", "a"],
  ["/node_modules/@a/b/index.js", "b"],
  ["/node_modules/@a/b/node_modules/inner/index.js", "inner"],
  ["/logo.png", null],
  ["/src/b.ts", null],
  ["/node_modules/late/index.js", null],
])("%s reads %j", (path, text) => {
  const found = files.read(path);
  expect(found === null ? null : new TextDecoder().decode(found)).toBe(text);
});

test("packages are installed, bundled with another, linked or still to fetch", () => {
  expect(files.isInstalled("/node_modules/@a/b")).toBe(true);
  expect(files.isInstalled("/node_modules/@a/b/node_modules/inner")).toBe(true);
  expect(files.isInstalled("/node_modules/inner")).toBe(false);
  expect(files.isMissing("/node_modules/late")).toBe(true);
  expect(files.link("/node_modules/own")).toBe("/packages/own");
  expect(files.has("/logo.png")).toBe(true);
});

test("a path inside a package is split at the innermost one", () => {
  expect(splitPackagePath("/x/node_modules/a/node_modules/@b/c/d/e.js")).toEqual({
    directory: "/x/node_modules/a/node_modules/@b/c",
    rest: "d/e.js",
  });
  expect(splitPackagePath("/src/a.ts")).toBeNull();
});

test.each([
  [1000, true],
  [1001, false],
])("a package.json with %i stars is read: %s", (stars, isRead) => {
  const exports = { "./*": `./${"*".repeat(stars - 1)}` };
  const packed = packaged({ "package.json": JSON.stringify({ exports }), "index.js": "" });
  const install = { packages: new Map(), links: new Map() };
  const found = createDisk(emptyTree(), install, new Map([["/node_modules/stars", packed]]));
  expect(found.manifest("/node_modules/stars") !== null).toBe(isRead);
  expect(found.isInstalled("/node_modules/stars")).toBe(true);
});
