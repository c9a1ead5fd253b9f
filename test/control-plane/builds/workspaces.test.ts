import { afterEach, expect, test, vi } from "vitest";
import { buildLog } from "../../../src/control-plane/builds/build-log.ts";
import { findPackage } from "../../../src/control-plane/builds/locks/install-tree.ts";
import { workspacesOf } from "../../../src/control-plane/builds/locks/workspaces.ts";
import { readDependencies } from "../../../src/control-plane/builds/packages/dependencies.ts";
import { readProject } from "../../../src/control-plane/builds/packages/project.ts";
import { emptyTree } from "../../../src/control-plane/builds/tree.ts";

afterEach(() => vi.restoreAllMocks());

const RECORDS = new Map<string, string>();
const STORAGE = {
  listPrebuilt: async () => ({}),
  readPrebuilt: async () => null,
  readResolution: async (hash: string) => {
    const text = RECORDS.get(hash);
    return text === undefined ? null : new Blob([text]).stream();
  },
  writeResolution: async (hash: string, text: string) => void RECORDS.set(hash, text),
};

/** A registry with these versions of `ms`, `debug` and LangGraph. */
function registry(numbers = ["1.0.0"]) {
  return vi.spyOn(globalThis, "fetch").mockImplementation(async (input) => {
    const { pathname } = new URL(input instanceof Request ? input.url : input);
    const name = decodeURIComponent(pathname).slice(1);
    const isKnown = ["ms", "debug", "@langchain/langgraph"].includes(name);
    const dist = { integrity: "sha512-AA==" };
    const versions = Object.fromEntries(numbers.map((number) => [number, { dist }]));
    return isKnown ? Response.json({ versions }) : new Response(null, { status: 404 });
  });
}

type Files = Record<string, unknown>;

function treeOf(files: Files) {
  const tree = emptyTree();
  for (const [path, value] of Object.entries(files)) {
    const text = typeof value === "string" ? value : JSON.stringify(value);
    tree.files.set(path, new TextEncoder().encode(text));
  }
  return tree;
}

/** `home`: the folder of langgraph.json. */
async function install(files: Files, graph = "packages/agent/agent.ts", home = "") {
  const project = readProject(treeOf(files), `${home}/langgraph.json`, [graph]);
  const options = { policy: { allow_private: true }, registry_url: "https://registry.test" };
  const log = buildLog({ log: async () => undefined });
  const dependencies = await readDependencies(log, STORAGE as never, project, options);
  return (from: string, name: string) => findPackage(dependencies.install, from, name);
}

const LANGGRAPH = { "@langchain/langgraph": "^1.0.0" };
const ROOT = { workspaces: ["packages/*"], dependencies: LANGGRAPH };
const AGENT = { name: "agent", dependencies: { ms: "1", "@x/core": "^2.0.0" } };
const CORE = { name: "@x/core", version: "2.1.0", dependencies: { debug: "1" } };
const MONOREPO = {
  "package.json": ROOT,
  "packages/agent/package.json": AGENT,
  "packages/core/package.json": CORE,
};

test("workspaces without a lockfile have their dependencies, and no private name is requested", async () => {
  const fetched = registry();
  for (const _ of ["chosen", "recorded"]) {
    const find = await install(MONOREPO);
    expect(find("/packages/agent", "ms")).toBe("/node_modules/ms");
    expect(find("/packages/agent", "@x/core")).toBe("/packages/core");
    expect(find("/packages/core", "debug")).toBe("/node_modules/debug");
    expect(find("/packages/agent", "@langchain/langgraph")).not.toBeNull();
  }
  expect(fetched).toHaveBeenCalledTimes(3);
});

test("a graph's package has its own version of what the workspaces' root has too", async () => {
  registry(["1.0.0", "2.0.0"]);
  const root = { ...ROOT, dependencies: { ...LANGGRAPH, ms: "1" } };
  const agent = { name: "agent", dependencies: { ms: "2" } };
  const files = { ...MONOREPO, "package.json": root, "packages/agent/package.json": agent };
  const find = await install(files, "packages/agent/agent.ts", "packages/agent");
  expect(find("/packages/agent", "ms")).toBe("/packages/agent/node_modules/ms");
  expect(find("/packages/core", "ms")).toBe("/node_modules/ms");
});

test("LangGraph of the workspaces' root is installed for a graph's package", async () => {
  registry();
  const files = {
    ...MONOREPO,
    "package.json": { workspaces: ["packages/*"], dependencies: { ms: "1" } },
  };
  const agent = { dependencies: { ...LANGGRAPH, "@x/core": "workspace:*" } };
  const find = await install({ ...files, "packages/agent/package.json": agent });
  expect(find("/packages/agent", "ms")).toBe("/node_modules/ms");
  expect(find("/packages/agent", "@langchain/langgraph")).not.toBeNull();
});

test("a folder of the repository is linked, and its dependencies are installed", async () => {
  registry();
  const root = { dependencies: { ...LANGGRAPH, core: "file:./packages/core" } };
  const files = { "package.json": root, "packages/core/package.json": CORE };
  const find = await install(files, "agent.ts");
  expect(find("", "core")).toBe("/packages/core");
  expect(find("/packages/core", "debug")).toBe("/node_modules/debug");
});

test("a pnpm project without a lockfile has the overrides of pnpm alone", async () => {
  registry();
  const root = {
    packageManager: "pnpm@9.15.0",
    overrides: { ms: "2.0.0" },
    pnpm: { overrides: { "debug@>=1": "-" } },
    dependencies: { ...LANGGRAPH, ms: "1", debug: "1" },
  };
  const find = await install({ "package.json": root }, "agent.ts");
  expect(find("", "ms")).toBe("/node_modules/ms");
  expect(find("", "debug")).toBeNull();
});

test("another version than that of the workspace comes from the registry", async () => {
  registry();
  const agent = { dependencies: { ms: "1", "@x/core": "^3.0.0" } };
  await expect(install({ ...MONOREPO, "packages/agent/package.json": agent })).rejects.toThrow(
    "packages/agent/package.json requires @x/core@^3.0.0: the registry does not have it",
  );
});

test.each(["catalog:", "patch:ms@1#a.patch", "jsr:@x/ms@1", "github:x/ms", "x/ms"])(
  "%s without a lockfile is refused with the remedy",
  async (ms) => {
    registry();
    const files = { "package.json": { dependencies: { ...LANGGRAPH, ms } } };
    await expect(install(files, "agent.ts")).rejects.toThrow("Commit a lockfile");
  },
);

const LOCKS = {
  "yarn.lock": `# yarn lockfile v1\n
"@langchain/langgraph@^1.0.0":\n  version "1.0.0"\nms@1:\n  version "1.0.0"\ndebug@1:\n  version "1.0.0"\n`,
  "pnpm-lock.yaml": `lockfileVersion: '9.0'
importers:
  .: {dependencies: {'@langchain/langgraph': {version: 1.0.0}}}
  packages/agent: {dependencies: {ms: {version: 1.0.0}}}
packages: {'@langchain/langgraph@1.0.0': {}, ms@1.0.0: {}}
snapshots: {'@langchain/langgraph@1.0.0': {}, ms@1.0.0: {}}
`,
};

test.each(Object.entries(LOCKS))("%s installs the package of a graph", async (file, text) => {
  const find = await install({ ...MONOREPO, [file]: text });
  expect(find("/packages/agent", "ms")).toBe("/node_modules/ms");
});

test.each([
  [{ workspaces: ["packages/*"] }, "packages/agent", true],
  [{ workspaces: { packages: ["./packages/*"] } }, "packages/agent", true],
  [{ workspaces: ["{apps,packages}/**"] }, "packages/agent", true],
  [{ workspaces: ["**/agent"] }, "packages/agent", true],
  [{ workspaces: ["packages/agent/"] }, "packages/agent", true],
  [{ workspaces: ["packages/*", "!packages/agent"] }, "packages/agent", false],
  [{ workspaces: ["packages"] }, "packages/agent", false],
  [{ workspaces: ["*"] }, "packages/agent", false],
  [{ workspaces: ["*/agent.x"] }, "packages/agentsx", false],
  [{}, "packages/agent", false],
])("%j has the workspace %s: %s", (root, folder, isMember) => {
  const files = { "package.json": root, [`${folder}/package.json`]: {} };
  expect(workspacesOf(treeOf(files)).rootOf(`/${folder}`)).toBe(isMember ? "" : null);
});

const LOCK_OF_ROOT = {
  "package.json": { dependencies: LANGGRAPH },
  "package-lock.json": {
    lockfileVersion: 3,
    packages: { "node_modules/@langchain/langgraph": { version: "1.0.1" } },
  },
};

test("a lockfile above that does not have the folder is not read", async () => {
  const fetched = registry();
  const agent = { dependencies: { ...LANGGRAPH, ms: "1" } };
  const find = await install(
    { ...LOCK_OF_ROOT, "agent/package.json": agent },
    "agent/agent.ts",
    "agent",
  );
  expect(find("/agent", "ms")).toBe("/agent/node_modules/ms");
  expect(fetched).toHaveBeenCalled();
});

test("a lockfile above is read for a folder that it has, or that has no dependencies", async () => {
  const fetched = registry();
  const own = { "agent/package.json": { type: "module" } };
  const find = await install({ ...LOCK_OF_ROOT, ...own }, "agent/agent.ts", "agent");
  expect(find("/agent", "@langchain/langgraph")).toBe("/node_modules/@langchain/langgraph");
  expect(fetched).not.toHaveBeenCalled();
});

test("the dependencies of the root of a pnpm workspace are installed", async () => {
  registry();
  const files = {
    "package.json": { dependencies: { ms: "1" } },
    "pnpm-workspace.yaml": "packages: ['packages/*']\n",
    "packages/agent/package.json": { dependencies: LANGGRAPH },
  };
  const find = await install(files, "packages/agent/agent.ts", "packages/agent");
  expect(find("/packages/agent", "ms")).toBe("/node_modules/ms");
});
