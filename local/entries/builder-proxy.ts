import { WorkerEntrypoint } from "cloudflare:workers";
import type { Builder as ProductBuilder } from "../../src/builder.ts";
import type {
  BuildOrder,
  BuildOutcome,
  BuildSink,
  PrebuildOrder,
} from "../../src/control-plane/builds/contract.ts";
import type { DebugPort } from "./debug-port.ts";
import { claimProcess, releaseProcess, toLossError } from "./processes.ts";

type ProxyEnv = { DEBUG_PORT: DebugPort; PROCESSES: Fetcher };

/**
 * Runs each build in a process that no other build uses, unless the pool is full. A failed build ends its process,
 * unless another build uses it.
 */
export class Builder extends WorkerEntrypoint<ProxyEnv> {
  build(order: BuildOrder, sink: BuildSink): Promise<BuildOutcome> {
    const isWell = (outcome: BuildOutcome) => outcome.ok;
    return this.#call(order.revision_id, (builder) => builder.build(order, sink), isWell);
  }

  prebuild(order: PrebuildOrder): Promise<void> {
    // The random id separates two prebuilds of one version.
    const key = `prebuild:${order.name}@${order.version} ${crypto.randomUUID()}`;
    return this.#call(
      key,
      (builder) => builder.prebuild(order),
      () => true,
    );
  }

  async #call<T>(
    key: string,
    work: (builder: ProductBuilder) => Promise<T>,
    isWellAfter: (result: T) => boolean,
  ): Promise<T> {
    const address = await claimProcess(this.env, key);
    const client = this.env.DEBUG_PORT.connect(address);
    const builder = client.getEntrypoint("script", "Builder") as unknown as ProductBuilder;
    let isWell = false;
    try {
      const result = await work(builder);
      isWell = isWellAfter(result);
      return result;
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
