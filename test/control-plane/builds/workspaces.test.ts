import { afterEach, expect, test, vi } from "vitest";
import { buildLog } from "../../../src/control-plane/builds/build-log.ts";
import { findPackage } from "../../../src/control-plane/builds/locks/lockfile.ts";
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

/** A registry with version 1.0.0 of `ms`, `debug` and LangGraph. */
function registry() {
  return vi.spyOn(globalThis, "fetch").mockImplementation(async (input) => {
    const { pathname } = new URL(input instanceof Request ? input.url : input);
    const name = decodeURIComponent(pathname).slice(1);
    const isKnown = ["ms", "debug", "@langchain/langgraph"].includes(name);
    const versions = { "1.0.0": { dist: { integrity: "sha512-AA==" } } };
    return isKnown ? Response.json({ versions }) : new Response(null, { status: 404 });
  });
}

async function install(files: Record<string, unknown>, graph = "packages/agent/agent.ts") {
  const tree = emptyTree();
  for (const [path, value] of Object.entries(files)) {
    const text = typeof value === "string" ? value : JSON.stringify(value);
    tree.files.set(path, new TextEncoder().encode(text));
  }
  const project = readProject(tree, "langgraph.json", [graph]);
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

test("LangGraph of the workspaces' root is installed for a graph's package", async () => {
  registry();
  const files = { ...MONOREPO, "package.json": { workspaces: ["*"], dependencies: { ms: "1" } } };
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
