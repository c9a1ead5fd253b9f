import { basename, join } from "node:path";
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

/** Both scripts as a deployment would have them. `main` takes the place of the Worker's own entry. */
export async function bundle(path: string, main?: string, region?: Region): Promise<void> {
  if (main !== undefined && basename(main) !== "index.ts") {
    throw new Error(`${main} is no entry: its name must be index.ts`);
  }
  await Promise.all(
    SCRIPTS.map((script, n) => {
      const entry = n === 0 && main !== undefined ? [main] : [];
      const out = ["--dry-run", "--outdir", bundleOf(path, script)];
      return execWrangler(path, [
        ...["deploy", ...entry, ...out, "-c", script.config],
        ...environmentOf(region),
      ]);
    }),
  );
}
