import { WorkerEntrypoint } from "cloudflare:workers";
import type { BuildIsolate, BuildOrder, BuildOutcome, BuildSink, BuildStore } from "../contract.ts";
import { runBuild } from "./build.ts";

/** The code of one build's isolate. It has no bindings: `storage` is all that it may read and write. */
export class Build extends WorkerEntrypoint implements BuildIsolate {
  build(order: BuildOrder, sink: BuildSink, storage: BuildStore): Promise<BuildOutcome> {
    return runBuild(storage, order, sink);
  }
}
