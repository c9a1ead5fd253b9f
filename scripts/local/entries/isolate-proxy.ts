import { WorkerEntrypoint } from "cloudflare:workers";
import { eq } from "drizzle-orm";
import type { IsolateCall, IsolateRef } from "../../../src/deployments/isolate.ts";
import { deployments } from "../../../src/deployments/table.ts";
import { database } from "../../../src/shared/context.ts";
import { forwardCalls, type MainEnv } from "./debug-port.ts";
import { claimProcess, toLossError } from "./processes.ts";

/** The service of scripts/local/entries/isolate-host.ts in the process of a workspace. */
const HOST_SERVICE = "script";

/** A deployment never moves to another workspace. */
const workspaces = new Map<string, string>();

/** Calls an isolate in the process of its workspace. */
export class IsolateProxy extends WorkerEntrypoint<MainEnv, IsolateCall> {
  constructor(ctx: ExecutionContext<IsolateCall>, env: MainEnv) {
    super(ctx, env);
    // biome-ignore lint/correctness/noConstructorReturn: only a proxy has every method that an agent has
    return forwardCalls(this, (work) => this.#call(work));
  }

  override fetch(request: Request): Promise<Response> {
    return this.#call((agent) => agent.fetch(request));
  }

  async #call<T>(work: (agent: Fetcher) => Promise<T>): Promise<T> {
    const key = await this.#processKey(this.ctx.props.ref);
    const address = await claimProcess(this.env, key);
    try {
      return await work(this.#isolateAt(address));
    } catch (error) {
      throw await toLossError(this.env, key, address, error);
    }
  }

  #isolateAt(address: string): Fetcher {
    const client = this.env.DEBUG_PORT.connect(address);
    return client.getEntrypoint(HOST_SERVICE, "Isolate", this.ctx.props);
  }

  /** A quarantined call shares no process with the other calls of its workspace. */
  async #processKey({ deployment_id, quarantine }: IsolateRef): Promise<string> {
    const workspace_id = await this.#workspaceOf(deployment_id);
    return quarantine === undefined ? workspace_id : `${workspace_id}:quarantine`;
  }

  async #workspaceOf(deployment_id: string): Promise<string> {
    const known = workspaces.get(deployment_id);
    if (known !== undefined) return known;
    const [row] = await database(this.env)
      .select({ workspace_id: deployments.workspace_id })
      .from(deployments)
      .where(eq(deployments.id, deployment_id));
    if (!row) throw new Error(`Deployment ${deployment_id} does not exist.`);
    workspaces.set(deployment_id, row.workspace_id);
    return row.workspace_id;
  }
}
