// Runs the bundled Worker in workerd, as `wrangler dev` does, but without the proxy that it puts in
// front: that is a second workerd, and each request pays 2 ms for it. Its one argument is a Serving.
import { mkdir, readdir, readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { convertV4MiniflareOptions, Log, LogLevel, Miniflare } from "miniflare";
import { bundleOf, SCRIPTS, type Script } from "./bundle.ts";
import { agentProcesses } from "./pool/agent-processes.ts";
import { workerdPath } from "./pool/child.ts";
import { debugPortBinding } from "./pool/debug-port-plugin.ts";

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
type Bound = {
  name: string;
  bindings: Record<string, string>;
  serviceBindings?: object;
  [option: string]: unknown;
};
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
await enterRunFolder();
process.env.HEDDLE_WORKERD = workerdPath;
process.env.MINIFLARE_WORKERD_PATH = join(import.meta.dirname, "pool/workerd.sh");
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

/** The working directory of all workerd processes, with their sockets: only this user may enter it. */
async function enterRunFolder() {
  const folder = join(path, "run");
  await rm(folder, { recursive: true, force: true });
  await mkdir(folder, { mode: 0o700 });
  process.chdir(folder);
}

async function workerOf(script: Script, n: number) {
  const options = bound[n];
  if (!options) throw new Error(`workers.json says nothing of ${script.config}`);
  const variables = script.takesVariables ? serving.variables : {};
  const isMain = n === 0;
  const folder = bundleOf(path, script);
  const { name, r2Buckets, d1Databases, queueProducers } = options;
  console.log(`${name} ${JSON.stringify({ r2Buckets, d1Databases, queueProducers })}`);
  return {
    ...options,
    rootPath: folder,
    modulesRoot: folder,
    modules: await readModules(folder, script.entry),
    bindings: { ...options.bindings, ...variables },
    ...(isMain ? await mainOnly(options, { ...options.bindings, ...variables }) : {}),
  };
}

async function mainOnly({ name, serviceBindings }: Bound, variables: Record<string, string>) {
  const PROCESSES = await agentProcesses(path, `core:user:${name}`, variables);
  return {
    serviceBindings: { ...serviceBindings, PROCESSES },
    unsafeBindings: [debugPortBinding("DEBUG_PORT")],
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
