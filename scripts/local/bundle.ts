import { rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { build } from "esbuild";
import { bundleScript } from "../build/script.ts";
import { buildBuilderModules, buildMainModules } from "../build/steps.ts";

/** A script of wrangler's configuration. */
export type Script = {
  config: string;
  main: string;
  folder: string;
  /** The bundle's module that the script begins with. */
  entry: string;
};

/** The product's main script, and what runs agents in other processes. */
const MAIN: Script = {
  config: "wrangler.toml",
  main: "scripts/local/entries/index.ts",
  folder: "worker",
  entry: "index.js",
};
const BUILDER: Script = {
  config: "wrangler.builder.toml",
  main: "src/builder.ts",
  folder: "builder",
  entry: "builder.js",
};
/** The Worker comes first: it answers what comes in. */
export const SCRIPTS: readonly Script[] = [MAIN, BUILDER];

export function bundleOf(path: string, { folder }: Script): string {
  return join(path, "bundle", folder);
}

/** Scripts of the local stack alone. */
const LOCAL = ["isolate-host", "builder-proxy", "bucket"] as const;

export function localBundleOf(path: string, name: (typeof LOCAL)[number]): string {
  return join(path, `bundle/local/${name}.js`);
}

/** Bundles what answers requests. `main` replaces the entry of the main script. */
export async function bundle(path: string, main = MAIN.main): Promise<void> {
  await Promise.all([
    bundleLocal(path),
    buildMainModules().then(() => bundleScript(main, bundleOf(path, MAIN), MAIN.entry)),
    rm(bundleOf(path, BUILDER), { recursive: true, force: true }),
  ]);
}

let builderModules = Promise.resolve();

/** Bundles the builder, which the first build waits for. Its folder appears whole. */
export async function bundleBuilder(path: string): Promise<void> {
  // Stacks of one process write to the same dist, one after the other.
  builderModules = builderModules.then(buildBuilderModules);
  await builderModules;
  const folder = bundleOf(path, BUILDER);
  await bundleScript(BUILDER.main, `${folder}.draft`, BUILDER.entry);
  await rename(`${folder}.draft`, folder);
}

async function bundleLocal(path: string): Promise<void> {
  await build({
    entryPoints: LOCAL.map((name) => `scripts/local/entries/${name}.ts`),
    outdir: join(path, "bundle/local"),
    bundle: true,
    format: "esm",
    target: "es2024",
    conditions: ["workerd", "worker"],
    external: ["cloudflare:*", "node:*"],
    logLevel: "error",
  });
}
