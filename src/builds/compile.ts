import type { BuildLog } from "./build-log.ts";
import { isBuiltin } from "./builtins.ts";
import { bundle } from "./bundle.ts";
import { HARNESS } from "./carried.ts";
import type { AgentConfig, Artifact } from "./contract.ts";
import { type Dependencies, installPaths } from "./dependencies.ts";
import { disk } from "./disk.ts";
import { BuildFailure } from "./failure.ts";
import { graphsModule } from "./graphs-module.ts";
import type { Installer } from "./install.ts";
import { asksOf, reachable } from "./lockfile.ts";
import { heddlePlugin, type PluginOptions } from "./plugin.ts";
import { closure, type Runtime } from "./prebuilt.ts";
import { type Project, textOf } from "./project.ts";
import { createResolver } from "./resolver.ts";
import { stateTypes } from "./state-types.ts";
import { bytesText, countText, durationText } from "./text.ts";
import type { Tree } from "./tree.ts";
import { readTsConfig } from "./tsconfig.ts";

/** The runtime that artifacts are loaded with; a newer Heddle does not change what is deployed. */
const COMPATIBILITY_DATE = "2026-11-01";
const MAIN = "main.js";
/** Packages that the manifest does not lead to are found while bundling, a few rounds deep at most. */
const ROUNDS = 6;
const MAX_LOGGED = 20;

export type CompileInput = {
  tree: Tree;
  config: AgentConfig;
  project: Project;
  dependencies: Dependencies;
  installer: Installer;
  runtime: Runtime;
};

export async function compile(log: BuildLog, input: CompileInput): Promise<Artifact> {
  const { tree, project, dependencies, installer } = input;
  const tsconfig = readTsConfig(project.folder, (path) => textOf(tree, path));
  for (let round = 0; round < ROUNDS; round++) {
    const started = Date.now();
    const options = pluginOptions(input, tsconfig);
    const bundled = await bundle("heddle:agent", heddlePlugin(options), tsconfig);
    if (bundled.ok) {
      for (const warning of bundled.warnings.slice(0, MAX_LOGGED)) log.warn(warning);
      const prebuilt = closure(input.runtime, options.used);
      explain(log, bundled.code, prebuilt, Date.now() - started);
      const modules = { [MAIN]: bundled.code, ...prebuilt };
      return {
        compatibility_date: COMPATIBILITY_DATE,
        main_module: MAIN,
        modules,
        source_map: bundled.map,
      };
    }
    if (options.missing.size === 0) throw bundleFailed(log, dependencies, bundled.errors);
    await installPaths(
      log,
      installer,
      dependencies.install,
      withNeeds(dependencies, options.missing),
    );
  }
  throw new BuildFailure(
    "dependency_unresolved",
    "The agent's packages lead to ever more packages.",
  );
}

function pluginOptions(
  input: CompileInput,
  tsconfig: ReturnType<typeof readTsConfig>,
): PluginOptions {
  const { tree, config, dependencies, installer, runtime } = input;
  const files = disk(tree, dependencies.install, installer.installed);
  const { langgraph, provided } = dependencies;
  return {
    disk: files,
    resolve: createResolver({ disk: files, tsconfig, provided, isBuiltin }),
    runtime,
    virtual: {
      // Imports of the harness lead to the LangGraph that the agent has, and to what that one sees.
      "heddle:agent": {
        text: langgraph === null ? HARNESS.plain_agent : HARNESS.langgraph_agent,
        directory: langgraph ?? dependencies.directory,
      },
      "heddle:graphs": {
        text: graphsModule(config, stateTypes(typeScriptOf(tree))),
        directory: "/",
      },
    },
    used: new Set(),
    missing: new Set(),
  };
}

function* typeScriptOf(tree: Tree): Generator<string> {
  for (const path of tree.files.keys()) {
    if (/\.[cm]?tsx?$/.test(path) && !path.includes("node_modules/"))
      yield textOf(tree, path) ?? "";
  }
}

function withNeeds({ install, provided }: Dependencies, missing: Set<string>): Set<string> {
  const paths = new Set(missing);
  for (const path of missing) {
    const asks = asksOf({
      dependencies: Object.fromEntries(
        (install.packages.get(path)?.asks ?? []).map((name) => [name, "*"]),
      ),
    });
    for (const need of reachable(install, path, asks, (at) => provided.has(at))) paths.add(need);
  }
  return paths;
}

function explain(log: BuildLog, code: string, prebuilt: Record<string, string>, took: number) {
  const count = Object.keys(prebuilt).length;
  const beside = count === 0 ? "" : ` beside ${countText(count, "prebuilt module")}`;
  log.info(`Bundled ${bytesText(code.length)}${beside} in ${durationText(took)}`);
}

function bundleFailed(
  log: BuildLog,
  { install, langgraph }: Dependencies,
  errors: string[],
): BuildFailure {
  for (const error of errors.slice(0, MAX_LOGGED)) log.error(error);
  const own = errors.find((error) => !error.startsWith("heddle:"));
  if (own === undefined && langgraph !== null) {
    const version = install.packages.get(langgraph)?.version;
    const text = `Heddle cannot drive LangGraph ${version}: it lacks what version 1 has. Update @langchain/langgraph.`;
    return new BuildFailure("bundle_failed", text);
  }
  const more =
    errors.length > 1
      ? ` (and ${countText(errors.length - 1, "more error")}; see the build log)`
      : "";
  const isDependency = errors.every((error) => error.includes('" is not installed;'));
  const reason = isDependency ? "dependency_unresolved" : "bundle_failed";
  const first = own ?? errors[0] ?? "The bundler failed without a message.";
  return new BuildFailure(reason, first + more);
}
