import { encodeBytes } from "../../../shared/crypto/encoding.ts";
import { MAIN_MODULE, type SourceMap } from "../../../shared/source-maps/stacks.ts";
import type { BuildLog } from "../build-log.ts";
import { type AgentConfig, type Artifact, type ArtifactModule, CONTRACT } from "../contract.ts";
import { BuildFailure } from "../failure.ts";
import { QUOTED_BYTES } from "../limits.ts";
import { dependencyNames } from "../locks/install-tree.ts";
import type { Dependencies } from "../packages/dependencies.ts";
import { HARNESS } from "../packages/embedded.ts";
import type { Installer } from "../packages/install.ts";
import { type NpmProject, textOf } from "../packages/project.ts";
import { inRounds } from "../packages/rounds.ts";
import { closure, RUNTIME_FOLDER } from "../prebuilt/unit.ts";
import { isBuiltin } from "../resolve/builtins.ts";
import { createDisk } from "../resolve/disk.ts";
import { createResolver } from "../resolve/resolver.ts";
import type { TsConfig } from "../resolve/tsconfig.ts";
import { filesToRead } from "../source/bundle-files.ts";
import { bytesText, countText, durationText } from "../text.ts";
import type { Tree } from "../tree.ts";
import { contextType } from "../types/context-type.ts";
import { graphsModule } from "../types/graphs-module.ts";
import { stateTypes, typeScriptOf } from "../types/state-types.ts";
import { TYPE_LIMITS, TypeBudget } from "../types/type-budget.ts";
import type { Schema } from "../types/type-schema.ts";
import { bundle } from "./bundle.ts";
import { checkLangGraph, harnessOf, lacksZodSchema } from "./langgraph-versions.ts";
import { AGENT_LOADERS } from "./loads.ts";
import { plainPath } from "./node-mode.ts";
import { heddlePlugin, type PluginOptions } from "./plugin.ts";

/** Part of the artifact, so that a newer Heddle does not change the runtime of a deployed agent. */
const COMPATIBILITY_DATE = "2026-11-01";
const MAX_LOGGED = 20;
/** Module that LangGraph has since 0.2.68. The harness imports it, so earlier versions get an empty one. */
const ZOD_SCHEMA = "@langchain/langgraph/zod/schema";
/** Replaces `cloudflare:sockets` in agents (see `REPLACED` of plugin.ts). */
const SOCKETS = 'export { connect } from "heddle:globals";';
/** Adds no formats: the replacement of Ajv has them. */
const AJV_FORMATS = "export default (ajv) => ajv;";
const TYPES_CUT =
  `The types of the state are too large to describe in full: at most ${TYPE_LIMITS.nodes_per_type} nodes of one type, ` +
  `${TYPE_LIMITS.nodes} in total, and ${bytesText(TYPE_LIMITS.source)} of TypeScript are read. ` +
  "The agent runs, but the schemas of some fields are empty.";

export type CompileInput = {
  tree: Tree;
  config: AgentConfig;
  project: NpmProject;
  dependencies: Dependencies;
  installer: Installer;
  tsconfig: TsConfig;
};

type CompileResult = { artifact: Artifact; map: SourceMap };

export async function compile(log: BuildLog, input: CompileInput): Promise<CompileResult> {
  checkLangGraph(log, input);
  const started = Date.now();
  const graphs = describeGraphs(log, input);
  let used = new Set<string>();
  let wasm: Record<string, ArtifactModule> = {};
  const bundled = await inRounds(log, input, async () => {
    used = new Set();
    wasm = {};
    const options = pluginOptions(input, graphs, used, wasm);
    const plugin = heddlePlugin(options);
    return {
      bundled: await bundle("heddle:agent", plugin, input.tsconfig),
      missing: options.missing,
    };
  });
  if (!bundled.ok) throw bundleFailed(log, bundled.errors);
  for (const warning of bundled.warnings.slice(0, MAX_LOGGED)) log.warn(warning);
  const prebuilt = closure(input.dependencies.runtime, used);
  logBundle(log, bundled.code, prebuilt, Date.now() - started);
  const artifact = {
    contract: CONTRACT,
    compatibility_date: COMPATIBILITY_DATE,
    main_module: MAIN_MODULE,
    modules: {
      ...filesToRead(log, input.tree),
      ...wasm,
      [MAIN_MODULE]: bundled.code,
      ...prebuilt,
    },
  };
  return { artifact, map: withSources(bundled.map, input.tree) };
}

/** Adds the texts of the repository, from which failures quote lines. */
function withSources(json: string, tree: Tree): SourceMap {
  const { sources: marked, mappings } = JSON.parse(json) as SourceMap;
  const sources = marked.map(plainPath);
  let bytes = 0;
  const sourcesContent = sources.map((path) => {
    bytes += tree.files.get(path)?.byteLength ?? 0;
    return bytes > QUOTED_BYTES ? null : textOf(tree, path);
  });
  return { sources, sourcesContent, mappings };
}

/** Returns options that fill `used` with the imported prebuilt files, and `wasm` with WebAssembly modules by path. */
function pluginOptions(
  { tree, project, dependencies, installer, tsconfig }: CompileInput,
  graphs: string,
  used: Set<string>,
  wasm: Record<string, ArtifactModule>,
): PluginOptions {
  const files = createDisk(tree, dependencies.install, installer.installed);
  const { langgraph, provided, runtime } = dependencies;
  const resolver = { disk: files, tsconfig, isBuiltin };
  return {
    disk: files,
    resolve: createResolver({ ...resolver, provided }),
    resolveInstalled: createResolver({ ...resolver, provided: new Set() }),
    providedModule: (specifier) => {
      const file = runtime.entries[specifier];
      if (file === undefined) return null;
      used.add(file);
      return `./${RUNTIME_FOLDER}${file}`;
    },
    virtual: {
      // Resolves imports of the harness to the agent's LangGraph and its dependencies.
      "heddle:agent": {
        text: harnessOf(dependencies),
        directory: langgraph ?? dependencies.directory,
      },
      "heddle:globals": { text: HARNESS.globals, directory: "/" },
      "heddle:sockets": { text: SOCKETS, directory: "/" },
      "heddle:ajv": { text: HARNESS.ajv, directory: "/" },
      "heddle:ajv-formats": { text: AJV_FORMATS, directory: "/" },
      "heddle:graphs": { text: graphs, directory: "/" },
      ...(lacksZodSchema(dependencies) && { [ZOD_SCHEMA]: { text: "export {};", directory: "/" } }),
    },
    wasmModule: (path) => {
      const bytes = files.read(path);
      if (bytes === null) return null;
      wasm[path.slice(1)] = { wasm: encodeBytes(bytes, "base64") };
      return `.${path}`;
    },
    loaders: AGENT_LOADERS,
    dependencies: dependencyNames(project.manifest ?? {}),
    missing: new Set(),
  };
}

/** Returns the module that lists the graphs with their types. */
function describeGraphs(log: BuildLog, { tree, config }: CompileInput): string {
  const budget = new TypeBudget();
  const byPath = new Map<string, Schema | null>();
  // Contexts are read first: graphs have few files, and the other files of a large source may use up the budget.
  const contexts = Object.entries(config.graphs).map(([id, { path }]) => {
    if (!byPath.has(path)) byPath.set(path, contextType(textOf(tree, path) ?? "", budget));
    return [id, byPath.get(path) ?? null] as const;
  });
  const types = stateTypes(typeScriptOf(tree), budget);
  if (budget.isExceeded) log.warn(TYPES_CUT);
  return graphsModule(config, types, Object.fromEntries(contexts));
}

function logBundle(log: BuildLog, code: string, prebuilt: Record<string, string>, took: number) {
  const count = Object.keys(prebuilt).length;
  const beside = count === 0 ? "" : ` beside ${countText(count, "prebuilt module")}`;
  log.info(`Bundled ${bytesText(code.length)}${beside} in ${durationText(took)}`);
}

function bundleFailed(log: BuildLog, errors: string[]): BuildFailure {
  for (const error of errors.slice(0, MAX_LOGGED)) log.error(error);
  // Prefers an error in the agent's files to one in Heddle's modules, which often follows from it.
  const own = errors.find((error) => !error.startsWith("heddle:"));
  const more =
    errors.length > 1
      ? ` (and ${countText(errors.length - 1, "more error")}; see the build log)`
      : "";
  const isDependency = errors.every((error) => error.includes('" is not installed;'));
  const reason = isDependency ? "dependency_unresolved" : "bundle_failed";
  const first = own ?? errors[0] ?? "The bundler failed without a message.";
  return new BuildFailure(reason, first + more);
}
