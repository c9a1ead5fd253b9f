import { expect, test } from "vitest";
import { assertInSync } from "../../../src/control-plane/builds/locks/in-sync.ts";
import type { Manifest } from "../../../src/control-plane/builds/locks/install-tree.ts";
import { readNpmLock } from "../../../src/control-plane/builds/locks/npm-lock.ts";
import { readPnpmLock } from "../../../src/control-plane/builds/locks/pnpm-lock.ts";

const REGISTRY = "https://registry.test/npm";

const INSTALL = readNpmLock(
  "",
  JSON.stringify({
    lockfileVersion: 3,
    packages: { "node_modules/a": { version: "1.0.0" }, "node_modules/@s/a": { version: "1.0.0" } },
  }),
  REGISTRY,
);

const check = (manager: string, dependencies: Record<string, string>, root: Manifest = {}) => {
  return () => assertInSync("", { dependencies }, INSTALL, { file: "the.lock", manager, root });
};

test("a package.json ahead of its lockfile is refused with the package's name", () => {
  expect(check("npm", { a: "^1.0.0" })).not.toThrow();
  expect(check("npm", { a: "^2.0.0" })).toThrow(/requires a \^2.0.0 but the.lock has 1.0.0/);
  expect(check("npm", { b: "1" })).toThrow(/requires b 1, which the.lock does not have/);
});

test.each<[string, Manifest]>([
  ["npm", { overrides: { a: "1.0.0" } }],
  ["npm", { overrides: { a: { ".": "1.0.0" } } }],
  ["npm", { overrides: { b: { "a@2": "1.0.0" } } }],
  ["yarn", { resolutions: { a: "1.0.0" } }],
  ["yarn", { resolutions: { "**/a": "1.0.0" } }],
  ["yarn", { resolutions: { "@s/b/a@npm:^2.0.0": "1.0.0" } }],
  ["bun", { overrides: { a: "1.0.0" } }],
  ["bun", { resolutions: { a: "1.0.0" } }],
])("%s replaces a direct dependency by %j", (manager, root) => {
  expect(check(manager, { a: "^2.0.0" }, root)).not.toThrow();
  expect(check(manager, { "@s/a": "^2.0.0" }, root)).toThrow("requires @s/a ^2.0.0");
});

test.each<[string, Manifest]>([
  ["npm", { resolutions: { a: "2.0.0" } }],
  ["yarn", { overrides: { a: "2.0.0" } }],
  ["pnpm", { overrides: { a: "2.0.0" }, resolutions: { a: "2.0.0" } }],
])("%s does not read %j", (manager, root) => {
  expect(check(manager, { a: "^1.0.0" }, root)).not.toThrow();
});

test("an override that the lockfile does not have yet is refused", () => {
  const root = { overrides: { a: "2.0.0" } };
  expect(check("npm", { a: "^1.0.0" }, root)).toThrow("requires a 2.0.0 but the.lock has 1.0.0");
});

const pnpmLock = (overrides: Record<string, string>) => `lockfileVersion: '9.0'
overrides: ${JSON.stringify(overrides)}
importers: {.: {dependencies: {a: {specifier: 1.0.0, version: 1.0.0}}}}
packages: {a@1.0.0: {resolution: {integrity: sha512-AA==}}}
snapshots: {a@1.0.0: {}}
`;

test.each([
  [{ a: "1.0.0" }],
  [{ "a@>=2 <3": "1.0.0" }],
  [{ "app@1>a@^2": "1.0.0" }],
  [{ a: "1.0.0", gone: "-" }],
])(
  "pnpm replaces a direct dependency by the lockfile's %j",
  (overrides: Record<string, string>) => {
    const text = pnpmLock(overrides);
    const install = readPnpmLock("", text, { registry_url: REGISTRY, project: "" });
    const dependencies = { a: "^2.0.0", ...(overrides.gone && { gone: "1" }) };
    const source = { file: "pnpm-lock.yaml", manager: "pnpm", root: {} };
    expect(() => assertInSync("", { dependencies }, install, source)).not.toThrow();
  },
);
