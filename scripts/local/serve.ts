// Runs the bundled Worker in workerd, as `wrangler dev` does, but without the proxy that it puts in
// front: that is a second workerd, and each request pays 2 ms for it. Its one argument is a Serving.
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { convertV4MiniflareOptions, Log, LogLevel, Miniflare } from "miniflare";
import { unstable_getMiniflareWorkerOptions, unstable_readConfig } from "wrangler";
import type { Region } from "../regions.ts";
import { bundleOf, SCRIPTS, type Script } from "./bundle.ts";

export type Serving = {
  /** The stack's folder: state and bundles live in it. */
  path: string;
  port: number;
  inspector_port: number | undefined;
  /** The environment of wrangler.toml; none: its top level. */
  region: Region | undefined;
  secrets_file: string;
  /** Over those of wrangler.toml. */
  variables: Record<string, string>;
};

type LegacyOptions = Parameters<typeof convertV4MiniflareOptions>[0];
type Module = { type: string; path: string; contents: string | Uint8Array };

const MODULES: Record<string, string> = {
  js: "ESModule",
  bin: "Data",
  txt: "Text",
  wasm: "CompiledWasm",
};

const serving = JSON.parse(process.argv[2] ?? "") as Serving;
const { path, port, inspector_port } = serving;
const miniflare = new Miniflare(
  convertV4MiniflareOptions({
    ...{ host: "127.0.0.1", port, inspectorPort: inspector_port },
    resourcePersistencePath: join(path, "state/v3"),
    unsafeTriggerHandlers: true,
    logRequests: false,
    log: new Log(LogLevel.WARN),
    handleStructuredLogs: say,
    telemetry: { enabled: false },
    workers: await Promise.all(SCRIPTS.map(workerOf)),
  } as LegacyOptions),
);
for (const signal of ["SIGTERM", "SIGINT"] as const) {
  process.once(signal, () => void miniflare.dispose().finally(() => process.exit(0)));
}
await miniflare.ready;

/** One script with its bindings as its configuration names them. */
async function workerOf(script: Script) {
  const { config, env } = { config: script.config, env: serving.region };
  const { name } = unstable_readConfig({ config, env });
  const { workerOptions } = unstable_getMiniflareWorkerOptions(config, env, {
    envFiles: [serving.secrets_file],
  } as Parameters<typeof unstable_getMiniflareWorkerOptions>[2]);
  const { modulesRules: _, ...options } = workerOptions;
  const variables = script.takesVariables ? serving.variables : {};
  const folder = bundleOf(path, script);
  const { r2Buckets, d1Databases, queueProducers } = options;
  console.log(`${name} ${JSON.stringify({ r2Buckets, d1Databases, queueProducers })}`);
  return {
    ...options,
    name,
    rootPath: folder,
    modulesRoot: folder,
    modules: await readModules(folder, script.entry),
    bindings: { ...(options.bindings as object), ...variables },
  };
}

/** The entry comes first. */
async function readModules(folder: string, entry: string): Promise<Module[]> {
  const names = (await readdir(folder)).filter((name) => typeOf(name) !== undefined);
  const sorted = [entry, ...names.filter((name) => name !== entry)];
  return Promise.all(
    sorted.map(async (name) => {
      const file = join(folder, name);
      const [type = "", bytes] = [typeOf(name), await readFile(file)];
      const isText = type === "ESModule" || type === "Text";
      return { type, path: file, contents: isText ? bytes.toString() : bytes };
    }),
  );
}

function typeOf(name: string): string | undefined {
  return MODULES[name.split(".").at(-1) ?? ""];
}

/** The Worker's own lines are JSON and say their level. */
function say({ level, message }: { level: string; message: string }) {
  const isOwn = message.startsWith('{"level":');
  console.log(level === "error" && !isOwn ? `[ERROR] ${message}` : message);
}
