import wasm from "esbuild-wasm/esbuild.wasm";
import build from "../../../../dist/build-isolate/build.txt";
import ajv from "../../../../dist/isolate/ajv.txt";
import early_langgraph_agent from "../../../../dist/isolate/early-langgraph-agent.txt";
import globals from "../../../../dist/isolate/globals.txt";
import langgraph_agent from "../../../../dist/isolate/langgraph-agent.txt";
import plain_agent from "../../../../dist/isolate/plain-agent.txt";
import { UNITS } from "../../../../dist/prebuilt/units.js";
import tailwind from "../../../../dist/styles/tailwind.txt";
import type { EgressPolicy } from "../../../shared/egress/egress.ts";
import type {
  BuildIsolate,
  BuildOrder,
  BuildOutcome,
  BuildSink,
  PrebuildIsolate,
  PrebuildOrder,
} from "../contract.ts";
import { PrebuiltUnits } from "../prebuilt/units.ts";
import { buildEgress } from "./callbacks.ts";
import { BuildStorage, PackageStorage } from "./storage.ts";

/** CPU time of a build or a prebuild. Cloudflare ends an isolate that exceeds it; local workerd does not. */
const CPU_LIMIT_MS = 120_000;

/** Modules by the names under which build.js imports them (scripts/build/build-isolate.ts). */
const MODULES = {
  "build.js": build,
  "esbuild.wasm": wasm,
  "ajv.txt": { text: ajv },
  "early-langgraph-agent.txt": { text: early_langgraph_agent },
  "globals.txt": { text: globals },
  "langgraph-agent.txt": { text: langgraph_agent },
  "plain-agent.txt": { text: plain_agent },
  "tailwind.txt": { text: tailwind },
};

/** Loads a new isolate for one build or one prebuild. */
export function loadIsolate(loader: WorkerLoader, policy: EgressPolicy): WorkerStub {
  return loader.load({
    compatibilityDate: "2026-11-01",
    mainModule: "build.js",
    modules: MODULES,
    env: {},
    globalOutbound: buildEgress(policy),
    limits: { cpuMs: CPU_LIMIT_MS },
  });
}

/** Returns the entrypoint `Build`. Casts it, because the loader types every entrypoint as a Fetcher. */
export function buildEntrypoint(isolate: WorkerStub): BuildIsolate {
  return isolate.getEntrypoint("Build") as unknown as BuildIsolate;
}

/**
 * Builds in a loaded isolate. Rejects when the isolate ends before it answers, or reports success without a stored
 * artifact. Other failures are outcomes.
 */
export async function buildIn(
  isolate: WorkerStub,
  bucket: R2Bucket,
  order: BuildOrder,
  sink: BuildSink,
): Promise<BuildOutcome> {
  const units = new PrebuiltUnits(bucket, UNITS);
  const storage = new BuildStorage(bucket, order, units);
  const outcome = await buildEntrypoint(isolate).build(order, sink, storage);
  if (!outcome.ok) return outcome;
  return { ...outcome, ...storage.stored(), lacking: units.missing };
}

/**
 * Builds a unit that an earlier build lacked. After a failure, the next build that lacks the unit requests it again.
 */
export async function prebuildIn(
  load: () => WorkerStub,
  bucket: R2Bucket,
  order: PrebuildOrder,
): Promise<void> {
  const { name, version } = order;
  const units = new PrebuiltUnits(bucket, UNITS);
  if (!(await units.isWanted(order))) return;
  const isolate = load().getEntrypoint("Prebuild") as unknown as PrebuildIsolate;
  const storage = new PackageStorage(bucket);
  await units.write({ name, version }, await isolate.prebuild(order, storage));
}
