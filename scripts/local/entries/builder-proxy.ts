import { WorkerEntrypoint } from "cloudflare:workers";
import type { Builder as ProductBuilder } from "../../../src/builder.ts";
import type {
  BuildOrder,
  BuildOutcome,
  BuildSink,
} from "../../../src/control-plane/builds/contract.ts";
import type { DebugPort } from "./debug-port.ts";
import { claimProcess, releaseProcess, toLossError } from "./processes.ts";

type ProxyEnv = { DEBUG_PORT: DebugPort; PROCESSES: Fetcher };

/** Runs each build in a process that runs no other at the time, and ends with a build that fails. */
export class Builder extends WorkerEntrypoint<ProxyEnv> {
  async build(order: BuildOrder, sink: BuildSink): Promise<BuildOutcome> {
    const key = order.revision_id;
    const address = await claimProcess(this.env, key);
    const client = this.env.DEBUG_PORT.connect(address);
    const builder = client.getEntrypoint("script", "Builder") as unknown as ProductBuilder;
    let isWell = false;
    try {
      const outcome = await builder.build(order, sink);
      isWell = outcome.ok;
      return outcome;
    } catch (error) {
      throw await toLossError(this.env, key, address, error);
    } finally {
      await releaseProcess(this.env, key, isWell);
    }
  }
}

export default {
  fetch: () => new Response("The builder is reached by its service binding.", { status: 404 }),
};
