import { expect, test } from "vitest";
import { findPackage } from "../../../src/control-plane/builds/locks/install-tree.ts";
import { workspacesOf } from "../../../src/control-plane/builds/locks/workspaces.ts";
import { readYarnLock } from "../../../src/control-plane/builds/locks/yarn-lock.ts";
import { emptyTree } from "../../../src/control-plane/builds/tree.ts";

type Entry = {
  resolution: string;
  version?: string;
  dependencies?: Record<string, string>;
  peerDependencies?: Record<string, string>;
};

type Files = Record<string, unknown>;

/** Reads a lockfile of yarn 4 for the files of a repository. */
function readPackages(files: Files, entries: Record<string, Entry>, folder = "") {
  const bytes = (value: unknown) =>
    new TextEncoder().encode(typeof value === "string" ? value : JSON.stringify(value));
  const tree = emptyTree();
  for (const [path, value] of Object.entries(files)) tree.files.set(path, bytes(value));
  const text = JSON.stringify({ __metadata: { version: 8 }, ...entries });
  const options = { registry_url: "https://registry.test", workspaces: workspacesOf(tree) };
  const install = readYarnLock(folder, text, { ...options, project: folder && `/${folder}` });
  return (from: string, name: string) =>
    install.packages.get(findPackage(install, from, name) ?? "");
}

function read(files: Files, entries: Record<string, Entry>, folder = "") {
  const find = readPackages(files, entries, folder);
  return (from: string, name: string) => find(from, name)?.version;
}

const CATALOGS = `catalog:
  ms: ^2.1.2
  tool: workspace:*
catalogs: {old: {ms: "npm:2.0.0"}}
`;

const LOCKED = {
  "ms@npm:2.1.3, ms@npm:^2.1.2": { resolution: "ms@npm:2.1.3" },
  "ms@npm:2.0.0": { resolution: "ms@npm:2.0.0" },
};

const tool = (dependencies: Record<string, string>) => ({ name: "tool", dependencies });

test("catalogs of yarn are read from .yarnrc.yml beside the lockfile", () => {
  const versionOf = read(
    {
      "a/.yarnrc.yml": CATALOGS,
      "a/package.json": { dependencies: { ms: "catalog:", tool: "catalog:" } },
      "a/tool/package.json": tool({ ms: "catalog:old" }),
    },
    LOCKED,
    "a",
  );
  expect([versionOf("/a", "ms"), versionOf("/a/tool", "ms")]).toEqual(["2.1.3", "2.0.0"]);
});

test.each([
  ["catalog:", 'which "catalog" of .yarnrc.yml does not have'],
  ["catalog:new", 'which "catalogs.new" of .yarnrc.yml does not have'],
])("%s that .yarnrc.yml lacks is refused", (range, message) => {
  const files = { "package.json": { dependencies: { debug: range } } };
  expect(() => read({ ...files, ".yarnrc.yml": CATALOGS }, LOCKED)).toThrow(message);
  expect(() => read(files, LOCKED)).toThrow(message);
});

const DEBUG = {
  ...LOCKED,
  "ms@npm:2.1.2": { resolution: "ms@npm:2.1.2" },
  "debug@npm:4.3.4": { resolution: "debug@npm:4.3.4", dependencies: { ms: "npm:2.1.2" } },
  "debug@patch:debug@npm%3A4.3.4#~/a.patch": {
    resolution: "debug@patch:debug@npm%3A4.3.4#~/a.patch::version=4.3.4&hash=7184e0",
  },
};

const withResolutions = (resolutions: Record<string, string>) => ({
  "package.json": { name: "root", dependencies: { ms: "2.1.2", debug: "4.3.4" }, resolutions },
  "vendor/ms/package.json": {},
});

test.each([
  [{}, "2.1.2", "2.1.2"],
  [{ ms: "2.1.3" }, "2.1.3", "2.1.3"],
  [{ "debug/ms": "npm:2.1.3" }, "2.1.2", "2.1.3"],
  [{ "debug@npm:4.3.4/ms": "2.1.3" }, "2.1.2", "2.1.3"],
  [{ "debug@npm:4.0.0/ms": "2.1.3" }, "2.1.2", "2.1.2"],
  [{ "root/ms@2.1.2": "2.1.3" }, "2.1.3", "2.1.2"],
  [{ "ms@npm:2.1.2": "2.1.3" }, "2.1.3", "2.1.3"],
  [{ "ms@npm:9.0.0": "2.1.3" }, "2.1.2", "2.1.2"],
  [{ "debug/ms": "portal:./vendor/ms" }, "2.1.2", undefined],
])("resolutions %j of yarn 4 give %s and %s", (resolutions: Record<string, string>, own, inner) => {
  const lock = { ...DEBUG, "ms@npm:2.1.3": { resolution: "ms@npm:2.1.3" } };
  const versionOf = read(withResolutions(resolutions), lock);
  expect([versionOf("", "ms"), versionOf("/node_modules/debug", "ms")]).toEqual([own, inner]);
});

test("a patch among the resolutions of yarn 4 is refused", () => {
  const resolutions = { "debug@npm:4.3.4": "patch:debug@npm%3A4.3.4#~/a.patch" };
  const find = readPackages(withResolutions(resolutions), DEBUG);
  expect(find("", "debug")?.refusal).toBe(
    "yarn.lock cannot be used: debug has a patch, which Heddle does not apply; publish a fork.",
  );
  expect(find("", "ms")?.refusal).toBeUndefined();
});

test("peers that only other workspaces depend on are hoisted to the root", () => {
  const find = readPackages(
    {
      "package.json": { workspaces: ["*"], dependencies: { tool: "workspace:*", ui: "1.0.0" } },
      "tool/package.json": { ...tool({}), peerDependencies: { ms: "^2.0.0" } },
      "other/package.json": { name: "other", devDependencies: { ms: "^2.1.2", react: "1.0.0" } },
    },
    {
      "ms@npm:^2.1.2": { resolution: "ms@npm:2.1.3", version: "2.1.3" },
      "ms@npm:3.0.0": { resolution: "ms@npm:3.0.0", version: "3.0.0" },
      "react@npm:1.0.0": {
        resolution: "react@npm:1.0.0",
        version: "1.0.0",
        dependencies: { ms: "npm:3.0.0" },
      },
      "ui@npm:1.0.0": {
        resolution: "ui@npm:1.0.0",
        version: "1.0.0",
        peerDependencies: { react: ">=1", gone: "*" },
      },
    },
  );
  expect(find("/node_modules/ui", "react")?.path).toBe("/node_modules/react");
  expect(find("/tool", "ms")?.version).toBe("2.1.3");
  expect(find("/node_modules/react", "ms")?.version).toBe("3.0.0");
  expect(find("/node_modules/ui", "gone")).toBeUndefined();
});

test("a package that a peer names is not installed twice", () => {
  const find = readPackages(
    { "package.json": { dependencies: { ms: "2.0.0", ui: "1.0.0" } } },
    {
      ...LOCKED,
      "ui@npm:1.0.0": { resolution: "ui@npm:1.0.0", peerDependencies: { ms: "^2.1.2" } },
    },
  );
  expect(find("/node_modules/ui", "ms")).toMatchObject({
    path: "/node_modules/ms",
    version: "2.0.0",
  });
});

test("a package is optional unless a dependency requires it", () => {
  const text = [
    "# yarn lockfile v1",
    'native@^1.0.0:\n  version "1.0.0"',
    'shared@^1.0.0:\n  version "1.0.0"',
    'user@^1.0.0:\n  version "1.0.0"\n  dependencies:\n    shared "^1.0.0"',
  ].join("\n\n");
  const tree = emptyTree();
  const manifest = {
    dependencies: { user: "^1.0.0" },
    optionalDependencies: { native: "^1.0.0", shared: "^1.0.0" },
  };
  tree.files.set("package.json", new TextEncoder().encode(JSON.stringify(manifest)));
  const workspaces = workspacesOf(tree);
  const options = { registry_url: "https://registry.test", workspaces, project: "" };
  const { packages } = readYarnLock("", text, options);
  const optional = [...packages.values()].filter(({ is_optional }) => is_optional);
  expect(optional.map(({ name }) => name)).toEqual(["native"]);
});

test("a package is placed where it has the peers of the one that needs it", () => {
  const locked = (name: string, version: string, more: Partial<Entry> = {}) => ({
    [`${name}@npm:${version}`]: { resolution: `${name}@npm:${version}`, version, ...more },
  });
  const peerDependencies = { core: "*" };
  const entries = {
    ...locked("core", "1.0.0"),
    ...locked("core", "2.0.0"),
    ...locked("base", "1.0.0", { peerDependencies }),
    // Names sort before those of their peers.
    ...locked("addon", "1.0.0", {
      peerDependencies: { base: "*" },
      dependencies: { inner: "npm:1.0.0" },
    }),
    ...locked("inner", "1.0.0", { peerDependencies }),
    ...locked("plain", "1.0.0"),
  };
  const dependencies = { addon: "1.0.0", base: "1.0.0", core: "1.0.0", plain: "1.0.0" };
  const tree = emptyTree();
  for (const [path, core] of [
    ["package.json", "1.0.0"],
    ["agent/package.json", "2.0.0"],
  ] as const) {
    const manifest = { workspaces: ["agent"], dependencies: { ...dependencies, core } };
    tree.files.set(path, new TextEncoder().encode(JSON.stringify(manifest)));
  }
  const { packages } = readYarnLock("", JSON.stringify({ __metadata: {}, ...entries }), {
    registry_url: "https://registry.test",
    workspaces: workspacesOf(tree),
    project: "/agent",
    others: [""],
  });
  expect([...packages.keys()].sort()).toEqual(
    ["addon", "base", "core", "inner"]
      .map((name) => `/agent/node_modules/${name}`)
      .concat(["addon", "base", "core", "inner", "plain"].map((name) => `/node_modules/${name}`)),
  );
  expect(packages.get("/agent/node_modules/core")?.version).toBe("2.0.0");
});
