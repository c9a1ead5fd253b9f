import { describe, expect, test } from "vitest";
import { readBunLock } from "../../../src/control-plane/builds/locks/bun-lock.ts";
import {
  findPackage,
  type Install,
  REGISTRY_INTEGRITY,
  reachable,
} from "../../../src/control-plane/builds/locks/install-tree.ts";
import { readPnpmLock } from "../../../src/control-plane/builds/locks/pnpm-lock.ts";
import { workspacesOf } from "../../../src/control-plane/builds/locks/workspaces.ts";
import { readYarnLock } from "../../../src/control-plane/builds/locks/yarn-lock.ts";
import { readProject } from "../../../src/control-plane/builds/packages/project.ts";
import { emptyTree, type Tree } from "../../../src/control-plane/builds/tree.ts";
import bun2 from "../../fixtures/locks/bun-2.lock.txt";
import pnpm9 from "../../fixtures/locks/pnpm-9.lock.txt";
import yarn1 from "../../fixtures/locks/yarn-1.lock.txt";
import yarn4 from "../../fixtures/locks/yarn-4.lock.txt";

const REGISTRY = "https://registry.test/npm";

/** The manifests for which each manager wrote its fixture. */
const ROOT = {
  name: "root",
  workspaces: ["packages/*"],
  dependencies: {
    ms: "2.1.2",
    debug: "4.3.4",
    tool: "1.0.0",
    "lodash-alias": "npm:lodash.camelcase@^4.3.0",
  },
  devDependencies: { "is-odd": "3.0.1" },
};
const TOOL = {
  name: "tool",
  version: "1.0.0",
  dependencies: { ms: "2.0.0", "@sindresorhus/is": "6.3.1" },
  optionalDependencies: { fsevents: "2.3.3" },
};

function treeOf(files: Record<string, unknown>): Tree {
  const bytes = (value: unknown) =>
    new TextEncoder().encode(typeof value === "string" ? value : JSON.stringify(value));
  const entries = Object.entries(files).map(([path, value]) => [path, bytes(value)] as const);
  return { ...emptyTree(), files: new Map(entries) };
}

function monorepo(tool: string, at = ""): Tree {
  const root = { ...ROOT, dependencies: { ...ROOT.dependencies, tool } };
  return treeOf({ [`${at}package.json`]: root, [`${at}packages/tool/package.json`]: TOOL });
}

const yarnOptions = (tree: Tree, project = "") => ({
  registry_url: REGISTRY,
  workspaces: workspacesOf(tree),
  project,
});

const READERS: [string, () => Install][] = [
  ["yarn 1", () => readYarnLock("", yarn1, yarnOptions(monorepo("1.0.0")))],
  ["yarn 4", () => readYarnLock("", yarn4, yarnOptions(monorepo("workspace:*")))],
  ["pnpm", () => readPnpmLock("", pnpm9, { registry_url: REGISTRY, project: "" })],
  ["bun", () => readBunLock("", bun2, REGISTRY)],
];

describe.each(READERS)("the lockfile of %s", (name, read) => {
  const install = read();
  const versionOf = (from: string, dependency: string) =>
    install.packages.get(findPackage(install, from, dependency) ?? "")?.version;

  test("gives each importer its version", () => {
    expect(versionOf("", "ms")).toBe("2.1.2");
    expect(versionOf("/packages/tool", "ms")).toBe("2.0.0");
    expect(versionOf("/node_modules/debug", "ms")).toBe("2.1.2");
    expect(versionOf("", "is-odd")).toBe("3.0.1");
    expect(versionOf("/node_modules/is-odd", "is-number")).toBe("6.0.0");
  });

  test("links the package of the monorepo", () => {
    expect(findPackage(install, "", "tool")).toBe("/packages/tool");
    expect(versionOf("/packages/tool", "@sindresorhus/is")).toBe("6.3.1");
  });

  test("takes tarballs from the installation's registry, with their integrity", () => {
    const ms = install.packages.get("/node_modules/ms");
    expect(ms?.url).toBe(`${REGISTRY}/ms/-/ms-2.1.2.tgz`);
    expect(ms?.integrity).toMatch(name === "yarn 4" ? REGISTRY_INTEGRITY : /^sha512-sGkPx/);
    const alias = install.packages.get("/node_modules/lodash-alias");
    expect(alias).toMatchObject({ name: "lodash.camelcase", version: "4.3.0" });
    expect(alias?.url).toBe(`${REGISTRY}/lodash.camelcase/-/lodash.camelcase-4.3.0.tgz`);
  });

  test("installs no native package of another system", () => {
    const names = ["ms", "@sindresorhus/is"];
    const paths = [...reachable(install, "/packages/tool", names, () => false)];
    expect(paths.some((path) => path.includes("fsevents"))).toBe(false);
    expect(paths).toHaveLength(2);
  });
});

test("yarn.lock of a project inside of a monorepo is that of its root", () => {
  const tree = monorepo("1.0.0", "apps/");
  const install = readYarnLock("apps", yarn1, yarnOptions(tree, "/apps/packages/tool"));
  expect(install.packages.get("/apps/node_modules/ms")?.version).toBe("2.0.0");
});

test("a dependency that yarn.lock lacks is named", () => {
  const tree = treeOf({ "package.json": { dependencies: { ms: "3.0.0" } } });
  expect(() => readYarnLock("", yarn1, yarnOptions(tree))).toThrow(
    "yarn.lock cannot be read: it lacks ms@3.0.0. Run yarn install and commit yarn.lock.",
  );
});

test("an entry of yarn.lock serves each of its ranges", () => {
  const lock = yarn1.replace("\nms@2.0.0:", '\nms@2.0.0, ms@^2.0.0, "ms@>= 1":');
  const tree = treeOf({ "package.json": { dependencies: { ms: ">= 1", "is-odd": "3.0.1" } } });
  const install = readYarnLock("", lock, yarnOptions(tree));
  expect(install.packages.get("/node_modules/ms")?.version).toBe("2.0.0");
});

test("resolutions of package.json replace ranges", () => {
  const manifest = { dependencies: { ms: "^1.0.0" }, resolutions: { ms: "2.0.0" } };
  const install = readYarnLock("", yarn1, yarnOptions(treeOf({ "package.json": manifest })));
  expect(install.packages.get("/node_modules/ms")?.version).toBe("2.0.0");
});

test("an entry of yarn 1 without integrity is verified by the hash of its address", () => {
  const lock = yarn1.replaceAll(/\n {2}integrity .*/g, "");
  const install = readYarnLock("", lock, yarnOptions(monorepo("1.0.0")));
  expect(install.packages.get("/node_modules/ms")?.integrity).toBe(
    "sha1-0J0fNXtEP0kzgqjrPM0YOHKuYAk=",
  );
});

const ALIASES = `lockfileVersion: '9.0'
a: &a {x: 1}
importers: {'.': {dependencies: *a, devDependencies: *a}}
`;

test.each([
  ["YAML aliases", ALIASES, "it has YAML aliases"],
  [
    "deep nesting",
    `lockfileVersion: '9.0'\na: ${"[".repeat(2000)}${"]".repeat(2000)}`,
    "nesting exceeded maxDepth",
  ],
  ["an old version", "lockfileVersion: 5.4\n", "it has version 5.4; Heddle reads 6 and 9"],
  ["no YAML", "{", "pnpm-lock.yaml cannot be read"],
])("pnpm-lock.yaml with %s is refused", (_, text, message) => {
  const read = () => readPnpmLock("", text, { registry_url: REGISTRY, project: "" });
  expect(read).toThrow(message);
});

test.each(["ms", "ms@2.1.2"])("a patch of pnpm for %s is refused where it is needed", (name) => {
  const text = `${pnpm9}\npatchedDependencies: {'${name}': {path: a}, other: {path: b}}\n`;
  const { packages } = readPnpmLock("", text, { registry_url: REGISTRY, project: "" });
  const refused = [...packages.values()].filter(({ refusal }) => refusal !== undefined);
  expect(new Set(refused.map((item) => item.name))).toEqual(new Set(["ms"]));
  expect(refused[0]?.refusal).toContain(`pnpm-lock.yaml cannot be used: ${name} has a patch`);
});

test.each([
  ["a document for pnpm itself", "---\nlockfileVersion: '9.0'\nimporters: {.: {}}\n\n---\n", ""],
  ["an empty document", "--- # pnpm\r\n", "\n---\n"],
])("pnpm-lock.yaml with %s has the project's packages", (_, before, after) => {
  const options = { registry_url: REGISTRY, project: "" };
  const install = readPnpmLock("", `${before}${pnpm9}${after}`, options);
  expect(install).toEqual(readPnpmLock("", pnpm9, options));
  expect(install.packages.size).toBeGreaterThan(0);
});

test("versions that need each other in a circle end", () => {
  const entry = (name: string, version: string, other: string, needs: string) =>
    `${name}@${version}:\n  version "${version}"\n  dependencies:\n    ${other} "${needs}"\n`;
  const lock = [
    "# yarn lockfile v1\n",
    entry("a", "1.0.0", "b", "1.0.0"),
    entry("b", "1.0.0", "a", "2.0.0"),
    entry("a", "2.0.0", "b", "2.0.0"),
    entry("b", "2.0.0", "a", "1.0.0"),
  ].join("\n");
  const tree = treeOf({ "package.json": { dependencies: { a: "1.0.0" } } });
  expect(() => readYarnLock("", lock, yarnOptions(tree))).toThrow("need each other in a circle");
});

test.each([
  [{}, "package-lock.json"],
  [{ packageManager: "yarn@1.22.22" }, "yarn.lock"],
  [{ packageManager: "pnpm@10.0.0" }, "pnpm-lock.yaml"],
])("of several lockfiles %j selects %s", (fields, file) => {
  const locks = { "package-lock.json": "{}", "yarn.lock": "", "pnpm-lock.yaml": "" };
  const { lock, ignored_locks } = readProject(
    treeOf({ ...locks, "package.json": fields }),
    "langgraph.json",
    ["agent.ts"],
  );
  expect(lock?.file).toBe(file);
  expect(ignored_locks).toEqual(Object.keys(locks).filter((name) => name !== file));
});

test("a binary lockfile of bun is refused with the command that replaces it", () => {
  const tree = { ...treeOf({ "package.json": {} }), others: new Set(["bun.lockb"]) };
  expect(() => readProject(tree, "langgraph.json", ["agent.ts"])).toThrow(
    "bun.lockb is binary: run bun install --save-text-lockfile",
  );
});

const NEEDS_LANGGRAPH = { dependencies: { "@langchain/langgraph": "1.0.0" } };

test.each([
  ["the root", NEEDS_LANGGRAPH, {}, ""],
  ["the graph's package", { workspaces: ["apps/*"] }, NEEDS_LANGGRAPH, "apps/agents"],
  ["the root where both do", NEEDS_LANGGRAPH, NEEDS_LANGGRAPH, ""],
  ["the root where none does", {}, {}, ""],
])("packages are those of %s", (_name, root, agents, folder) => {
  const tree = treeOf({
    "package.json": root,
    "yarn.lock": "",
    "apps/agents/package.json": agents,
  });
  const project = readProject(tree, "langgraph.json", ["apps/agents/src/graph.ts"]);
  expect([project.folder, project.lock?.folder]).toEqual([folder, ""]);
});

test("packages of the root and of the agent are both in place when they differ", () => {
  const agent = { name: "tool", version: "1.0.0", dependencies: { ms: "2.0.0", debug: "4.3.4" } };
  const root = { ...ROOT, dependencies: { ms: "2.1.2", debug: "4.3.4" }, devDependencies: {} };
  const tree = treeOf({ "package.json": root, "packages/tool/package.json": agent });
  const options = { ...yarnOptions(tree, "/packages/tool"), others: [""] };
  const install = readYarnLock("", yarn1, options);
  const versionOf = (from: string, name: string) =>
    install.packages.get(findPackage(install, from, name) ?? "")?.version;
  expect([versionOf("/packages/tool", "ms"), versionOf("", "ms")]).toEqual(["2.0.0", "2.1.2"]);
  expect(versionOf("/node_modules/debug", "ms")).toBe("2.1.2");
});
