// Runs the bundled Worker in workerd, as `wrangler dev` does, without its proxy, which is a second workerd and costs
// 2 ms per request. The listener (`front/`) connects to the socket of the main script and not to Miniflare's entry,
// which serves every bucket without a key. Both sockets are in `run` of the stack's folder (`pool/workerd.sh` names
// them).
// HEDDLE_SERVING is the JSON of a `ServeOptions`.
import { createHash } from "node:crypto";
import { mkdir, readFile, rm } from "node:fs/promises";
import { flushCompileCache } from "node:module";
import { join } from "node:path";
import { convertV4MiniflareOptions, Log, LogLevel, Miniflare } from "miniflare";
import { type EgressPolicy, egressPolicy } from "../src/shared/egress/egress.ts";
import type { ScriptOptions } from "./bundles/bundle.ts";
import { bundleOf, localBundleOf, SCRIPTS, type Script } from "./bundles/bundle.ts";
import { readModules } from "./bundles/modules.ts";
import { EACH_MINUTE, RESUME } from "./crons.ts";
import { startFront } from "./front/front.ts";
import { LIMITS } from "./front/limits.ts";
import { agentProcesses, builderProcesses } from "./pool/bindings.ts";
import { workerdPath } from "./pool/child.ts";
import { debugPortBinding } from "./pool/debug-port-plugin.ts";
import { startTicks, tick } from "./ticks.ts";

export type ServeOptions = {
  /** The stack's folder, with its state, its bundles and workers.json. */
  path: string;
  port: number;
  /** Port of V8's inspector; none without it. */
  inspector_port: number | undefined;
  /** Pause between two ticks of the cron. */
  tick_ms: number;
  /** Whether agents run in the Worker's process and not in those of the pool. */
  agents_in_main: boolean;
  /** Override those of wrangler.toml. */
  variables: Record<string, string>;
};

type LegacyOptions = Parameters<typeof convertV4MiniflareOptions>[0];
type EgressVariables = Parameters<typeof egressPolicy>[0];

/** Socket of Miniflare's entry. */
const ENTRY_SOCKET = "entry.sock";
/** Socket of the main script. */
const HTTP_SOCKET = "http.sock";

const serving = JSON.parse(process.env.HEDDLE_SERVING ?? "") as ServeOptions;
delete process.env.HEDDLE_SERVING;
const { path, port, inspector_port, tick_ms } = serving;
const bound = JSON.parse(await readFile(join(path, "workers.json"), "utf8")) as ScriptOptions[];
await enterRunFolder();
process.env.HEDDLE_WORKERD = workerdPath;
process.env.MINIFLARE_WORKERD_PATH = join(import.meta.dirname, "pool/workerd.sh");
const miniflare = new Miniflare(
  convertV4MiniflareOptions({
    ...{ host: "127.0.0.1", port: 0, inspectorPort: inspector_port },
    resourcePersistencePath: join(path, "state/v3"),
    unsafeTriggerHandlers: true,
    logRequests: false,
    log: new Log(LogLevel.WARN),
    handleStructuredLogs: printLine,
    telemetry: { enabled: false },
    unsafeHandleRuntimeRestart: resumeRuns,
    workers: await workers(),
  } as LegacyOptions),
);
for (const signal of ["SIGTERM", "SIGINT"] as const) {
  process.once(signal, () => void miniflare.dispose().finally(() => process.exit(0)));
}
await miniflare.ready;
await startFront({ port, socket: HTTP_SOCKET, limits: LIMITS });
void resumeRuns();
startTicks(ENTRY_SOCKET, { crons: [EACH_MINUTE], pause_ms: tick_ms });
// Without this, Node writes the cache when the process exits, and not after a SIGKILL.
flushCompileCache();

/** Continues runs that a previous process left unfinished, which would wait for the heartbeat of their thread. */
function resumeRuns(): Promise<void> {
  return tick(ENTRY_SOCKET, RESUME);
}

/**
 * Enters an empty working directory, in which all workerd processes have their sockets. Only this user may enter it.
 */
async function enterRunFolder() {
  const folder = join(path, "run");
  await rm(folder, { recursive: true, force: true });
  await mkdir(folder, { mode: 0o700 });
  process.chdir(folder);
}

async function mainWorker({ versionMetadata: _, ...options }: ScriptOptions, script: Script) {
  const folder = bundleOf(path, script);
  const modules = await readModules(folder, script.entry);
  const bindings = { ...options.bindings, ...serving.variables };
  return {
    ...options,
    // Ends a batch before its background work (entries/deliveries.ts), so that a slow server delays no other message.
    compatibilityFlags: ["queue_consumer_no_wait_for_wait_until"],
    rootPath: folder,
    modulesRoot: folder,
    modules,
    bindings: { ...bindings, VERSION: versionOf(modules) },
    serviceBindings: {
      ...options.serviceBindings,
      ...(!serving.agents_in_main && {
        PROCESSES: await agentProcesses(path, userService(options), bindings),
      }),
    },
    unsafeBindings: [debugPortBinding("DEBUG_PORT")],
    // pool/workerd.sh names the socket.
    unsafeDirectSockets: [{ host: "127.0.0.1", port: 0 }],
  };
}

/** Returns the version's metadata, with a hash of the modules as the id. Miniflare's own has a new id at each start. */
function versionOf(modules: { contents: string | Uint8Array }[]) {
  const hash = createHash("sha256");
  for (const { contents } of modules) hash.update(contents);
  return { id: hash.digest("hex"), tag: "", timestamp: "" };
}

/** Returns the proxy of the builder, which runs in processes of the pool. */
async function builderWorker(options: ScriptOptions, script: Script, policy: EgressPolicy) {
  const { name, compatibilityDate } = options;
  const contents = await readFile(localBundleOf(path, "builder-proxy"), "utf8");
  return {
    name,
    compatibilityDate,
    modules: [{ type: "ESModule", path: "builder-proxy.js", contents }],
    serviceBindings: { PROCESSES: builderProcesses(path, script, options, policy) },
    unsafeBindings: [debugPortBinding("DEBUG_PORT")],
  };
}

async function workers() {
  const [mainOptions, builderOptions] = bound;
  const [main, builder] = SCRIPTS;
  if (!mainOptions || !builderOptions || !main || !builder) {
    throw new Error(`${path}/workers.json must describe two scripts.`);
  }
  for (const { name, r2Buckets, d1Databases, queueProducers } of bound) {
    console.log(`${name} ${JSON.stringify({ r2Buckets, d1Databases, queueProducers })}`);
  }
  const variables = { ...mainOptions.bindings, ...serving.variables } as EgressVariables;
  const policy = egressPolicy(variables, "builds");
  return Promise.all([
    mainWorker(mainOptions, main),
    builderWorker(builderOptions, builder, policy),
  ]);
}

/** Returns the name that Miniflare gives to the service of a script. */
function userService({ name }: ScriptOptions): string {
  return `core:user:${name}`;
}

/** Prints a line of workerd, and marks errors of the runtime. Lines of the Worker are JSON, which has the level. */
function printLine({ level, message }: { level: string; message: string }) {
  const isOwn = message.startsWith('{"level":');
  console.log(level === "error" && !isOwn ? `[ERROR] ${message}` : message);
}
