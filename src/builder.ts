import { exports, WorkerEntrypoint } from "cloudflare:workers";
import wasm from "esbuild-wasm/esbuild.wasm";
import build from "../dist/build-isolate/build.txt";
import globals from "../dist/isolate/globals.txt";
import langgraph_agent from "../dist/isolate/langgraph-agent.txt";
import plain_agent from "../dist/isolate/plain-agent.txt";
import { UNITS } from "../dist/prebuilt/units.js";
import tailwind from "../dist/styles/tailwind.txt";
import type {
  BuildIsolate,
  BuildOrder,
  BuildOutcome,
  BuildSink,
  PrebuildIsolate,
  PrebuildOrder,
} from "./control-plane/builds/contract.ts";
import { PrebuiltUnits } from "./control-plane/builds/prebuilt/units.ts";
import { BuildStorage, PackageStorage } from "./control-plane/builds/queue/storage.ts";
import type { EgressPolicy } from "./shared/egress/egress.ts";

export { BuildEgress } from "./control-plane/builds/queue/egress.ts";

/** CPU time of a build. Cloudflare ends an isolate that exceeds it; local workerd does not. */
const CPU_LIMIT_MS = 120_000;

/** Names that scripts/build/build-isolate.ts leaves in the code. */
const MODULES = {
  "build.js": build,
  "esbuild.wasm": wasm,
  "globals.txt": { text: globals },
  "langgraph-agent.txt": { text: langgraph_agent },
  "plain-agent.txt": { text: plain_agent },
  "tailwind.txt": { text: tailwind },
};

type Bindings = Pick<Env, "ARTIFACTS" | "LOADER">;
type Loopback = { BuildEgress(options: { props: EgressPolicy }): Fetcher };

/** Loads a new isolate for each build. It reads no source itself, because all builds share this one. */
export class Builder extends WorkerEntrypoint<Bindings> {
  /** Rejects when the isolate ended before its answer; all other failures are outcomes. */
  async build(order: BuildOrder, sink: BuildSink): Promise<BuildOutcome> {
    const units = new PrebuiltUnits(this.env.ARTIFACTS, UNITS);
    const storage = new BuildStorage(this.env.ARTIFACTS, order, units);
    // The loader types every entrypoint as a Fetcher.
    const entrypoint = this.#load(order).getEntrypoint("Build") as unknown as BuildIsolate;
    const outcome = await entrypoint.build(order, sink, storage);
    if (!outcome.ok) return outcome;
    return { ...outcome, ...storage.stored(), lacking: units.missing };
  }

  /** Builds a unit that a build lacked. One that is lost is built after the next build that lacks it. */
  async prebuild(order: PrebuildOrder): Promise<void> {
    const { name, version } = order;
    const units = new PrebuiltUnits(this.env.ARTIFACTS, UNITS);
    if (!(await units.isWanted(order))) return;
    const isolate = this.#load(order).getEntrypoint("Prebuild") as unknown as PrebuildIsolate;
    const storage = new PackageStorage(this.env.ARTIFACTS);
    await units.write({ name, version }, await isolate.prebuild(order, storage));
  }

  #load(order: EgressPolicy): WorkerStub {
    return this.env.LOADER.load({
      compatibilityDate: "2026-11-01",
      mainModule: "build.js",
      modules: MODULES,
      env: {},
      globalOutbound: (exports as unknown as Loopback).BuildEgress({ props: policyOf(order) }),
      limits: { cpuMs: CPU_LIMIT_MS },
    });
  }
}

function policyOf({ allow_private, dns_url, own_ports }: EgressPolicy): EgressPolicy {
  return {
    allow_private,
    ...(dns_url !== undefined && { dns_url }),
    ...(own_ports !== undefined && { own_ports }),
  };
}

export default {
  fetch: () => new Response("The builder is reached by its service binding.", { status: 404 }),
};
