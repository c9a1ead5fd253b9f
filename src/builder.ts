import { WorkerEntrypoint } from "cloudflare:workers";
import type {
  BuildOrder,
  BuildOutcome,
  BuildSink,
  PrebuildOrder,
} from "./control-plane/builds/contract.ts";
import { buildIn, loadIsolate, prebuildIn } from "./control-plane/builds/queue/build-isolate.ts";

export { BuildEgress } from "./control-plane/builds/queue/egress.ts";

type Bindings = Pick<Env, "ARTIFACTS" | "LOADER">;

/** Loads a new isolate for each build and prebuild. All builds share the Builder's own isolate, so it reads no source. */
export class Builder extends WorkerEntrypoint<Bindings> {
  build(order: BuildOrder, sink: BuildSink): Promise<BuildOutcome> {
    const { ARTIFACTS, LOADER } = this.env;
    return buildIn(loadIsolate(LOADER, order), ARTIFACTS, order, sink);
  }

  prebuild(order: PrebuildOrder): Promise<void> {
    const { ARTIFACTS, LOADER } = this.env;
    return prebuildIn(() => loadIsolate(LOADER, order), ARTIFACTS, order);
  }
}

export default {
  fetch: () => new Response("The builder is reached by its service binding.", { status: 404 }),
};
