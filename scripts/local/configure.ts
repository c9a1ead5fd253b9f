// Writes down what the scripts of a stack are bound to, as wrangler reads its configuration. In a process of
// its own, and before the Worker is needed: loading wrangler takes a second, which a restart then does not pay.
// Its one argument is a Configuring.
import { join } from "node:path";
import { unstable_getMiniflareWorkerOptions, unstable_readConfig } from "wrangler";
import type { Region } from "../regions.ts";
import { SCRIPTS, type Script } from "./bundle.ts";
import { writeWhole } from "./folder.ts";

export type Configuring = {
  /** The stack's folder. */
  path: string;
  /** The environment of wrangler.toml; none: its top level. */
  region: Region | undefined;
  secrets_file: string;
};

const { path, region, secrets_file } = JSON.parse(process.argv[2] ?? "") as Configuring;
await writeWhole(join(path, "workers.json"), JSON.stringify(SCRIPTS.map(optionsOf)));

function optionsOf({ config }: Script) {
  const { name } = unstable_readConfig({ config, env: region });
  const { workerOptions } = unstable_getMiniflareWorkerOptions(config, region, {
    envFiles: [secrets_file],
  } as Parameters<typeof unstable_getMiniflareWorkerOptions>[2]);
  const { modulesRules: _, ...options } = workerOptions;
  return { ...options, name };
}
