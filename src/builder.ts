import { WorkerEntrypoint } from "cloudflare:workers";
import { runBuild } from "./builds/build.ts";
import type { BuildOrder, BuildOutcome, BuildSink } from "./builds/contract.ts";

export class Builder extends WorkerEntrypoint<Pick<Env, "ARTIFACTS">> {
  /** Never throws for a user's mistake; `sink` gets the lines of the log as they come. */
  async build(order: BuildOrder, sink: BuildSink): Promise<BuildOutcome> {
    return await runBuild(this.env.ARTIFACTS, order, sink);
  }
}

export default {
  fetch: () => new Response("The builder is reached by its service binding.", { status: 404 }),
};
