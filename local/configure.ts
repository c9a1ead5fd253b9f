// Writes workers.json, the options of the stack's scripts for Miniflare as wrangler derives them, and migrates the
// database. Runs as a process that ends before the Worker starts: loading wrangler takes a second and much memory.
// The argument is a `ConfigureOptions` as JSON. The last printed line is the first workspace as JSON, or null when
// none was created.
import { join } from "node:path";
import {
  type Unstable_MiniflareWorkerOptions,
  unstable_getMiniflareWorkerOptions,
  unstable_readConfig,
} from "wrangler";
import type { Region } from "../scripts/regions.ts";
import { SCRIPTS, type Script } from "./bundles/bundle.ts";
import { prepareDatabase } from "./database.ts";
import { writeWhole } from "./folder.ts";

type WorkerOptions = Unstable_MiniflareWorkerOptions["workerOptions"];

export type ConfigureOptions = {
  /** The stack's folder. */
  path: string;
  /** The environment of wrangler.toml; none: its top level. */
  region: Region | undefined;
  secrets_file: string;
  /** Whether the first workspace is missing, or its key. */
  needs_workspace: boolean;
};

const order = JSON.parse(process.argv[2] ?? "") as ConfigureOptions;
const { path, region, secrets_file } = order;
const options = SCRIPTS.map(optionsOf);
await writeWhole(join(path, "workers.json"), JSON.stringify(options));
const workspace = await prepareDatabase(path, options[0]?.d1Databases, order.needs_workspace);
console.log(JSON.stringify(workspace));

function optionsOf({ config }: Script): WorkerOptions & { name: string | undefined } {
  const { name } = unstable_readConfig({ config, env: region });
  const { workerOptions } = unstable_getMiniflareWorkerOptions(config, region, {
    envFiles: [secrets_file],
  } as Parameters<typeof unstable_getMiniflareWorkerOptions>[2]);
  // The log of one machine is in worker.log, so no tail runs there.
  const { modulesRules: _, tails: __, ...rest } = workerOptions;
  return { ...rest, name };
}
