import { expect, test } from "vitest";
import { buildLog } from "../../../src/control-plane/builds/build-log.ts";
import { readProject } from "../../../src/control-plane/builds/packages/project.ts";
import { loadTsConfig } from "../../../src/control-plane/builds/resolve/tsconfig.ts";
import { emptyTree } from "../../../src/control-plane/builds/tree.ts";

/** Loads tsconfig.json of a repository in which each tsconfig.json sets `jsxFactory` to its folder. */
async function load(paths: string[], config_path: string, graph_path: string) {
  const tree = emptyTree();
  for (const path of paths) {
    const jsxFactory = path.replace(/\/?tsconfig.json$/, "");
    const value = { compilerOptions: { jsxFactory } };
    tree.files.set(path, new TextEncoder().encode(JSON.stringify(value)));
  }
  const log = buildLog({ log: () => Promise.resolve() });
  const { compilerOptions } = await loadTsConfig(log, {
    tree,
    project: readProject(tree, config_path, [graph_path]),
    dependencies: { install: { packages: new Map(), links: new Map() } },
    installer: { installed: new Map() },
  } as never);
  return compilerOptions.jsxFactory;
}

test.each([
  [
    "beside langgraph.json",
    ["package.json", "tsconfig.json", "apps/bot/tsconfig.json"],
    "apps/bot",
  ],
  ["above langgraph.json", ["package.json", "apps/tsconfig.json"], "apps"],
  ["above package.json", ["apps/bot/package.json", "tsconfig.json"], ""],
  ["beside the graph only", ["package.json", "apps/bot/src/tsconfig.json"], "apps/bot/src"],
])("tsconfig.json %s is read", async (_, paths, folder) => {
  expect(await load(paths, "apps/bot/langgraph.json", "apps/bot/src/a.ts")).toBe(folder);
});
