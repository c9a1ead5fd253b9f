import { WorkerEntrypoint } from "cloudflare:workers";
import type {
  BuildIsolate,
  BuildOrder,
  BuildOutcome,
  BuildSink,
  BuildStore,
  PackageStore,
  PrebuildIsolate,
  PrebuildOrder,
} from "../contract.ts";
import { runBuild } from "./build.ts";
import { startBundler } from "./bundle.ts";
import { prebuildPackage } from "./prebuild.ts";

/** The code of one build's isolate. The isolate has no bindings: it reads and writes R2 only through `storage`. */
export class Build extends WorkerEntrypoint implements BuildIsolate {
  prepare(): Promise<void> {
    return startBundler();
  }

  build(order: BuildOrder, sink: BuildSink, storage: BuildStore): Promise<BuildOutcome> {
    return runBuild(storage, order, sink);
  }
}

/** Builds one version of a package for all agents that have it. */
export class Prebuild extends WorkerEntrypoint implements PrebuildIsolate {
  prebuild(order: PrebuildOrder, storage: PackageStore): Promise<Uint8Array> {
    return prebuildPackage(storage, order);
  }
}
