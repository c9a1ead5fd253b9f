// Runs the bundled Worker in workerd, as `wrangler dev` does, but without the proxy that it puts in
// front: that is a second workerd, and each request pays 2 ms for it. Its one argument is a Serving.
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { convertV4MiniflareOptions, Log, LogLevel, Miniflare } from "miniflare";
import { bundleOf, SCRIPTS, type Script } from "./bundle.ts";

export type Serving = {
  /** The stack's folder: state, bundles and what they are bound to live in it. */
  path: string;
  port: number;
  inspector_port: number | undefined;
  /** Over those of wrangler.toml. */
  variables: Record<string, string>;
};

type LegacyOptions = Parameters<typeof convertV4MiniflareOptions>[0];
/** What configure.ts has written of a script. */
type Bound = { name: string; bindings: object; [option: string]: unknown };
type Module = { type: string; path: string; contents: string | Uint8Array };

const MODULES: Record<string, string> = {
  js: "ESModule",
  bin: "Data",
  txt: "Text",
  wasm: "CompiledWasm",
};

const serving = JSON.parse(process.argv[2] ?? "") as Serving;
const { path, port, inspector_port } = serving;
const bound = JSON.parse(await readFile(join(path, "workers.json"), "utf8")) as Bound[];
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

async function workerOf(script: Script, n: number) {
  const options = bound[n];
  if (!options) throw new Error(`workers.json says nothing of ${script.config}`);
  const variables = script.takesVariables ? serving.variables : {};
  const folder = bundleOf(path, script);
  const { name, r2Buckets, d1Databases, queueProducers } = options;
  console.log(`${name} ${JSON.stringify({ r2Buckets, d1Databases, queueProducers })}`);
  return {
    ...options,
    rootPath: folder,
    modulesRoot: folder,
    modules: await readModules(folder, script.entry),
    bindings: { ...options.bindings, ...variables },
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
