import type { BuildLog } from "../build-log.ts";
import type { UiBundles, UiFiles } from "../contract.ts";
import { BuildFailure } from "../failure.ts";
import { UI_BYTES } from "../limits.ts";
import { textOf } from "../packages/project.ts";
import { inRounds } from "../packages/rounds.ts";
import { isPrefixed } from "../resolve/builtins.ts";
import { createDisk, type Disk } from "../resolve/disk.ts";
import { createResolver, type Resolver } from "../resolve/resolver.ts";
import { bytesText, countText, durationText } from "../text.ts";
import type { Tree } from "../tree.ts";
import { bundleUi } from "./bundle.ts";
import type { CompileInput } from "./compile.ts";
import { UI_LOADERS } from "./loads.ts";
import { heddlePlugin, type PluginOptions } from "./plugin.ts";
import { compileStyles, type StyleReader } from "./tailwind.ts";
import { UI_ENTRY, uiGlobal, uiModule } from "./ui-module.ts";

const MAX_LOGGED = 20;

/** Modules that the page provides to components. */
const HOST_PACKAGES = ["react", "react-dom", "@langchain/langgraph-sdk"];

/** Bundles the components of each agent for browsers. @returns `null` without components */
export async function compileUi(log: BuildLog, input: CompileInput): Promise<UiBundles | null> {
  const entries = Object.entries(input.config.ui.entries);
  if (entries.length === 0) return null;
  const started = Date.now();
  const bundles: UiBundles = {};
  for (const [agent, path] of entries) {
    bundles[agent] = await compileOne(log, input, agent, path);
  }
  const bytes = JSON.stringify(bundles).length;
  if (bytes > UI_BYTES) {
    const text = `The components of "ui" are ${bytesText(bytes)}; the limit is ${bytesText(UI_BYTES)}.`;
    throw new BuildFailure("bundle_failed", text);
  }
  const agents = countText(entries.length, "agent");
  log.info(
    `Bundled the components of ${agents} (${bytesText(bytes)}) in ${durationText(Date.now() - started)}`,
  );
  return bundles;
}

async function compileOne(
  log: BuildLog,
  input: CompileInput,
  agent: string,
  path: string,
): Promise<UiFiles> {
  const bundled = await inRounds(log, input, async () => {
    const options = pluginOptions(input, path);
    const plugin = heddlePlugin(options);
    return {
      bundled: await bundleUi(UI_ENTRY, plugin, input.tsconfig, uiGlobal(agent)),
      missing: options.missing,
    };
  });
  if (!bundled.ok) {
    for (const error of bundled.errors.slice(0, MAX_LOGGED)) log.error(error);
    const [first = "the bundler failed without a message"] = bundled.errors;
    throw new BuildFailure("bundle_failed", `"ui.${agent}": ${first}`);
  }
  for (const warning of bundled.warnings.slice(0, MAX_LOGGED)) log.warn(warning);
  return bundled.files;
}

function pluginOptions(input: CompileInput, path: string): PluginOptions {
  const { tree, config, dependencies, installer, tsconfig } = input;
  const disk = createDisk(tree, dependencies.install, installer.installed);
  const shared = [...HOST_PACKAGES, ...config.ui.shared];
  // Prebuilt modules are for the agent's isolate; a browser gets the packages themselves.
  const resolve = createResolver({
    disk,
    tsconfig,
    provided: new Set(),
    isBuiltin: isPrefixed,
    platform: "browser",
  });
  return {
    disk,
    resolve,
    resolveInstalled: resolve,
    providedModule: () => null,
    virtual: { [UI_ENTRY]: { text: uiModule(path), directory: dependencies.directory } },
    loaders: UI_LOADERS,
    dependencies: [],
    styles: (css, directory) =>
      compileStyles(css, directory, () => scannedTexts(tree), styleReader(disk, resolve)),
    isShared: (specifier) =>
      shared.some((name) => specifier === name || specifier.startsWith(`${name}/`)),
    missing: new Set(),
  };
}

/** Yields the texts that Tailwind scans for class names. */
function* scannedTexts(tree: Tree): Generator<string> {
  for (const path of tree.files.keys()) {
    if (/\.([cm]?[jt]sx?|html|mdx?)$/.test(path)) yield textOf(tree, path) ?? "";
  }
}

function styleReader(disk: Disk, resolve: Resolver): StyleReader {
  return (specifier, directory) => {
    const resolved = resolve(specifier, directory, "style");
    const bytes = resolved.type === "file" ? disk.read(resolved.path) : null;
    if (resolved.type !== "file" || bytes === null) {
      throw new Error(resolved.type === "error" ? resolved.text : `"${specifier}" does not exist`);
    }
    return { path: resolved.path, text: new TextDecoder().decode(bytes) };
  };
}
