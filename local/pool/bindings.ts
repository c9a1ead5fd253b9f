// The PROCESSES binding of the main script and of the builder's proxy.
import { existsSync } from "node:fs";
import { totalmem } from "node:os";
import { dirname } from "node:path";
import { setTimeout } from "node:timers/promises";
import { type Request, Response } from "miniflare";
import type { EgressPolicy } from "../../src/shared/egress/egress.ts";
import type { ScriptOptions } from "../bundles/bundle.ts";
import { bundleOf, localBundleOf, type Script } from "../bundles/bundle.ts";
import { embedModules } from "../bundles/modules.ts";
import type { Limits } from "./child.ts";
import { DEBUG_PORT, LISTED_HOSTS, LOADER, textBindings, writeConfig } from "./config.ts";
import { Pool } from "./pool.ts";

type Body = { key: string; address: string; isWell: boolean };
type Processes = (request: Request) => Promise<Response>;

const MEGABYTE = 1024 * 1024;
/** V8 reserves 512 MB of data segments; the rest is for what grows between two checks of a process. */
const DATA_BYTES = 768 * MEGABYTE;
const AGENT_HEAP_MB = 192;
/** Without a limit, V8 collects garbage late: runs on large states would take the memory of their process. */
const AGENT_V8_FLAGS = `--max-heap-size=${AGENT_HEAP_MB}`;
const AGENT_BYTES = 768 * MEGABYTE;
/** Memory that the number of processes assumes for each. It is below the limit, because few reach the limit. */
const AGENT_ROOM_BYTES = 512 * MEGABYTE;
const AGENT_LIMITS: Limits = {
  label: "agent",
  heap_mb: AGENT_HEAP_MB,
  rss_bytes: AGENT_BYTES,
  data_bytes: AGENT_BYTES + DATA_BYTES,
  computes_ms: 3000,
};
const BUILD_BYTES = 1024 * MEGABYTE;
const BUILD_LIMITS: Limits = {
  label: "build",
  heap_mb: null,
  rss_bytes: BUILD_BYTES,
  data_bytes: BUILD_BYTES + DATA_BYTES,
  // Bundling blocks the process for seconds.
  computes_ms: 20_000,
};
const MAX_AGENT_PROCESSES = 32;
const MAX_BUILD_PROCESSES = 16;
const BUNDLE_PAUSE_MS = 50;
/** Variables of agents' egress. Secrets of the main script stay in its process. */
const VARIABLES = ["EGRESS_AGENT_HOSTS", "EGRESS_DNS_URL", "LOCAL_PORTS"];

/** Returns the handler of the binding of the main script: its pool has a process for each workspace. */
export async function agentProcesses(
  path: string,
  main_service: string,
  bindings: Record<string, string>,
): Promise<Processes> {
  const config = await agentConfig(path, main_service, bindings);
  const max_processes = roomFor(MAX_AGENT_PROCESSES, AGENT_ROOM_BYTES);
  const pool = new Pool({ config, limits: AGENT_LIMITS, max_processes, starts_ahead: true });
  return answerFrom(() => pool);
}

export function agentConfig(
  path: string,
  main_service: string,
  bindings: Record<string, string>,
): Promise<string> {
  const variables = Object.fromEntries(VARIABLES.map((name) => [name, bindings[name] ?? ""]));
  const texts = textBindings({ ...variables, MAIN_SERVICE: main_service });
  return writeConfig({
    folder: dirname(localBundleOf(path, "isolate-host")),
    modules: '[(name = "isolate-host.js", esModule = embed "isolate-host.js")]',
    compatibility_date: "2026-11-01",
    bindings: [LOADER, DEBUG_PORT, LISTED_HOSTS, ...texts],
    // workerd checks each address again: a name may resolve to another address than at the check of `Egress`.
    outbound: "public-network",
    // Tests set a smaller heap.
    v8_flags: (process.env.AGENTS_V8_FLAGS ?? AGENT_V8_FLAGS).split(" "),
  });
}

/**
 * Returns the handler of the binding of the builder's proxy: its pool has a process for each build. The first build
 * waits for the bundle, which the stack makes after its start.
 */
export function builderProcesses(
  path: string,
  script: Script,
  bound: ScriptOptions,
  policy: EgressPolicy,
): Processes {
  let pool: Promise<Pool> | undefined;
  return answerFrom(() => {
    pool ??= openBuilderPool(bundleOf(path, script), script, bound, policy).catch((error) => {
      // The next build opens it again.
      pool = undefined;
      throw error;
    });
    return pool;
  });
}

async function openBuilderPool(
  folder: string,
  script: Script,
  { compatibilityDate, r2Buckets }: ScriptOptions,
  policy: EgressPolicy,
): Promise<Pool> {
  while (!existsSync(folder)) await setTimeout(BUNDLE_PAUSE_MS);
  const bucket = textBindings({ BUCKET: r2Buckets?.ARTIFACTS?.id ?? "" });
  const config = await writeConfig({
    folder,
    modules: await embedModules(folder, script.entry),
    compatibility_date: compatibilityDate,
    bindings: [
      LOADER,
      '(name = "ARTIFACTS", r2Bucket = "bucket")',
      '(name = "PREPARED", durableObjectNamespace = "PreparedBuild")',
      ...textBindings({ POLICY: JSON.stringify(policy) }),
    ],
    objects: ["PreparedBuild"],
    outbound: "any-network",
    services: [
      `(name = "bucket", worker = (
        modules = [(name = "bucket.js", esModule = embed "../local/bucket.js")],
        compatibilityDate = "2026-11-01",
        bindings = [${[DEBUG_PORT, ...bucket].join(", ")}],
      ))`,
    ],
  });
  const max_processes = roomFor(MAX_BUILD_PROCESSES, BUILD_BYTES);
  return new Pool({ config, limits: BUILD_LIMITS, max_processes, starts_ahead: false });
}

/** Returns how many processes of this size fit into half of the machine's memory: 2 to `max`. */
function roomFor(max: number, bytes: number): number {
  return Math.max(2, Math.min(max, Math.floor(totalmem() / (2 * bytes))));
}

function answerFrom(openPool: () => Pool | Promise<Pool>): Processes {
  return async (request) => {
    const body = (await request.json()) as Body;
    try {
      return Response.json(await act(await openPool(), new URL(request.url).pathname, body));
    } catch (error) {
      return new Response(error instanceof Error ? error.message : String(error), { status: 503 });
    }
  };
}

async function act(pool: Pool, path: string, { key, address, isWell }: Body): Promise<object> {
  if (path === "/claim") return { address: await pool.claim(key) };
  if (path === "/release") {
    pool.release(key, { isWell });
    return {};
  }
  return { why: await pool.reasonOf(address) };
}
