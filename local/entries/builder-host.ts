// Runs builds in a process of the pool. The isolate of the next build is loaded in advance, and serves that build
// alone.
import { DurableObject, WorkerEntrypoint } from "cloudflare:workers";
import type {
  BuildOrder,
  BuildOutcome,
  BuildSink,
  PrebuildOrder,
} from "../../src/control-plane/builds/contract.ts";
import {
  buildEntrypoint,
  buildIn,
  loadIsolate,
  prebuildIn,
} from "../../src/control-plane/builds/queue/build-isolate.ts";

export { BuildEgress } from "../../src/control-plane/builds/queue/egress.ts";

type HostEnv = Pick<Env, "ARTIFACTS" | "LOADER"> & {
  /** Egress of all builds of the stack, as JSON. */
  POLICY: string;
  PREPARED: { get(name: string): DurableObjectStub<PreparedBuild> };
};

const OVER = "The build is over.";

/** Holds one isolate between requests, which only an object can. */
export class PreparedBuild extends DurableObject<HostEnv> {
  #isolate: WorkerStub | null = null;

  async prepare(): Promise<void> {
    await buildEntrypoint(this.#load()).prepare();
  }

  build(order: BuildOrder, sink: BuildSink): Promise<BuildOutcome> {
    return buildIn(this.#load(), this.env.ARTIFACTS, order, sink);
  }

  prebuild(order: PrebuildOrder): Promise<void> {
    return prebuildIn(() => this.#load(), this.env.ARTIFACTS, order);
  }

  /** Frees the isolate at once. The call itself always rejects, with `OVER`. */
  end(): void {
    this.ctx.abort(OVER);
  }

  #load(): WorkerStub {
    this.#isolate ??= loadIsolate(this.env.LOADER, JSON.parse(this.env.POLICY));
    return this.#isolate;
  }
}

type Prepared = DurableObjectStub<PreparedBuild>;

/**
 * Name of the object with the isolate of the next build. A name, because a stub serves only the request that made it.
 */
let spare: string | null = null;
/** Names of the objects whose builds are over. */
const ended: string[] = [];
let running = 0;

function ignoreOver(error: unknown): void {
  if (!(error instanceof Error && error.message === OVER)) throw error;
}

/**
 * Frees the isolates of builds that are over, and loads that of the next build. Pings call it: a build that did this
 * itself would delay its own answer, because a process has one thread.
 */
async function prepareNext(env: HostEnv): Promise<void> {
  for (const name of ended.splice(0)) await env.PREPARED.get(name).end().catch(ignoreOver);
  if (spare !== null || running > 0) return;
  spare = crypto.randomUUID();
  await env.PREPARED.get(spare).prepare();
}

export class Builder extends WorkerEntrypoint<HostEnv> {
  build(order: BuildOrder, sink: BuildSink): Promise<BuildOutcome> {
    return this.#inPrepared((builder) => builder.build(order, sink));
  }

  prebuild(order: PrebuildOrder): Promise<void> {
    return this.#inPrepared((builder) => builder.prebuild(order));
  }

  async #inPrepared<T>(work: (builder: Prepared) => Promise<T>): Promise<T> {
    const name = spare ?? crypto.randomUUID();
    spare = null;
    running += 1;
    try {
      return await work(this.env.PREPARED.get(name));
    } finally {
      running -= 1;
      ended.push(name);
    }
  }
}

/** Answers the pool's pings, which also come when the process has started and when a build was released. */
export default {
  fetch(_request, env, ctx) {
    ctx.waitUntil(prepareNext(env));
    return new Response("pong");
  },
} satisfies ExportedHandler<HostEnv>;
