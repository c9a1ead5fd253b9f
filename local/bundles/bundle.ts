import { existsSync } from "node:fs";
import { mkdir, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { buildBuilderModules, buildMainModules } from "../../scripts/build/steps.ts";
import { runUnlessCurrent } from "../../scripts/memo.ts";

/** Options of a script for Miniflare, which configure.ts writes. */
export type ScriptOptions = {
  name: string;
  bindings: Record<string, string>;
  serviceBindings?: object;
  r2Buckets?: Record<string, { id: string }>;
  compatibilityDate: string;
  [option: string]: unknown;
};

/** A script of wrangler's configuration. */
export type Script = {
  config: string;
  main: string;
  folder: string;
  /** The bundle's module that the script begins with. */
  entry: string;
};

/** The product's main script, with the local code that runs agents in other processes. */
const MAIN: Script = {
  config: "wrangler.toml",
  main: "local/entries/index.ts",
  folder: "worker",
  entry: "index.js",
};
/** The script of the processes that run builds. */
const BUILDER: Script = {
  config: "wrangler.builder.toml",
  main: "local/entries/builder-host.ts",
  folder: "builder",
  entry: "builder.js",
};
/** The main script comes first: Miniflare sends requests to its first Worker. */
export const SCRIPTS: readonly Script[] = [MAIN, BUILDER];

export function bundleOf(path: string, { folder }: Script): string {
  return join(path, "bundle", folder);
}

/** Scripts of the local stack alone. */
const LOCAL = ["isolate-host", "builder-proxy", "bucket"] as const;

export function localBundleOf(path: string, name: (typeof LOCAL)[number]): string {
  return join(path, `bundle/local/${name}.js`);
}

/** Files that decide how scripts are bundled. No script imports them, so esbuild does not list them. */
const BUNDLING = ["package-lock.json", "scripts/build/script.ts", "local/bundles/bundle.ts"];

/** Bundles all scripts except the builder. `main` replaces the entry of the main script. */
export async function bundle(path: string, main = MAIN.main): Promise<void> {
  await mkdir(join(path, "bundle"), { recursive: true });
  await Promise.all([
    bundleLocal(path),
    buildMainModules().then(() => bundleUnlessCurrent(path, { ...MAIN, main })),
    setAside(bundleOf(path, BUILDER)),
  ]);
}

/** Renames the folder to its draft. Builds wait for the folder until `bundleBuilder` has brought it up to date. */
async function setAside(folder: string): Promise<void> {
  if (!existsSync(folder)) return;
  await rm(draftOf(folder), { recursive: true, force: true });
  await rename(folder, draftOf(folder));
}

function draftOf(folder: string): string {
  return `${folder}.draft`;
}

let builderModules = Promise.resolve();

/** Bundles the builder in a draft and renames it: the first build waits for the complete folder. */
export async function bundleBuilder(path: string): Promise<void> {
  // All stacks of a process write to the same dist, so they do it one after the other.
  builderModules = builderModules.catch(() => undefined).then(buildBuilderModules);
  await builderModules;
  const folder = bundleOf(path, BUILDER);
  await bundleUnlessCurrent(path, { ...BUILDER, folder: draftOf(BUILDER.folder) });
  await rename(draftOf(folder), folder);
}

async function bundleUnlessCurrent(path: string, script: Script): Promise<void> {
  const { main, folder, entry } = script;
  const outdir = bundleOf(path, script);
  await runUnlessCurrent({
    file: join(path, `bundle/${folder}.json`),
    values: { root: process.cwd(), main },
    outputs: [join(outdir, entry)],
    async run() {
      const { bundleScript } = await import("../../scripts/build/script.ts");
      const sources = await bundleScript(main, outdir, entry);
      return { result: null, inputs: [...sources, ...BUNDLING] };
    },
  });
}

async function bundleLocal(path: string): Promise<void> {
  await runUnlessCurrent({
    file: join(path, "bundle/local.json"),
    values: { root: process.cwd() },
    outputs: LOCAL.map((name) => localBundleOf(path, name)),
    async run() {
      const { build } = await import("esbuild");
      const { metafile } = await build({
        entryPoints: LOCAL.map((name) => `local/entries/${name}.ts`),
        outdir: join(path, "bundle/local"),
        bundle: true,
        format: "esm",
        target: "es2024",
        conditions: ["workerd", "worker"],
        external: ["cloudflare:*", "node:*"],
        metafile: true,
        logLevel: "error",
      });
      return { result: null, inputs: [...Object.keys(metafile.inputs), ...BUNDLING] };
    },
  });
}
