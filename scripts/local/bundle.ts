import { basename, join } from "node:path";
import { build } from "esbuild";
import type { Region } from "../regions.ts";
import { environmentOf, execWrangler } from "./wrangler.ts";

/** A script of wrangler's configuration. */
export type Script = {
  config: string;
  folder: string;
  /** The bundle's module that the script begins with. */
  entry: string;
  /** Whether the stack's variables are for it. */
  takesVariables: boolean;
};

/** The Worker comes first: it answers what comes in. */
export const SCRIPTS: readonly Script[] = [
  { config: "wrangler.toml", folder: "worker", entry: "index.js", takesVariables: true },
  {
    config: "wrangler.builder.toml",
    folder: "builder",
    entry: "builder.js",
    takesVariables: false,
  },
];

export function bundleOf(path: string, { folder }: Script): string {
  return join(path, "bundle", folder);
}

/** The product's main script, and what runs agents in other processes. */
const MAIN = "scripts/local/entries/index.ts";
/** Scripts of the local stack alone. */
const LOCAL = ["isolate-host", "builder-proxy", "bucket"] as const;

export function localBundleOf(path: string, name: (typeof LOCAL)[number]): string {
  return join(path, `bundle/local/${name}.js`);
}

/** Both scripts as a deployment would have them. `main` takes the place of the local entry of the main script. */
export async function bundle(path: string, main = MAIN, region?: Region): Promise<void> {
  if (basename(main) !== "index.ts") {
    throw new Error(`${main} is no entry: its name must be index.ts`);
  }
  await Promise.all([
    bundleLocal(path),
    ...SCRIPTS.map((script, n) => {
      const entry = n === 0 ? [main] : [];
      const out = ["--dry-run", "--outdir", bundleOf(path, script)];
      return execWrangler(path, [
        ...["deploy", ...entry, ...out, "-c", script.config],
        ...environmentOf(region),
      ]);
    }),
  ]);
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
