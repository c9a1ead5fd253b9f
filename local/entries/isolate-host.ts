// Runs in the process of a workspace: loads the isolates of its agents and forwards calls to them.
import { WorkerEntrypoint } from "cloudflare:workers";
import {
  type IsolateCall,
  leavingFailedLoads,
  openIsolate,
} from "../../src/control-plane/deployments/isolate/isolate.ts";
import type { TailProps } from "../../src/control-plane/deployments/logs/tail-lines.ts";
import { type ReceivedLine, toLines } from "../../src/control-plane/deployments/logs/tail-lines.ts";
import { detachRpcResult } from "../../src/shared/rpc.ts";
import { type DebugPort, forwardCalls, MAIN_ADDRESS } from "./debug-port.ts";
import type { IsolateBackend } from "./isolate-backend.ts";

export { Egress } from "../../src/shared/egress/agent-egress.ts";

type HostEnv = { LOADER: WorkerLoader; DEBUG_PORT: DebugPort; MAIN_SERVICE: string };

/** Returns an entrypoint of the main process. An agent may have a stub of it, but cannot choose its props. */
function mainEntrypoint({ DEBUG_PORT, MAIN_SERVICE }: HostEnv, name: string, props: object) {
  return DEBUG_PORT.connect(MAIN_ADDRESS).getEntrypoint(MAIN_SERVICE, name, props);
}

function backend(env: HostEnv, { deployment_id, revision_id }: TailProps) {
  const props = { deployment_id, revision_id };
  return mainEntrypoint(env, "IsolateBackend", props) as unknown as IsolateBackend;
}

export class Isolate extends WorkerEntrypoint<HostEnv, IsolateCall> {
  constructor(ctx: ExecutionContext<IsolateCall>, env: HostEnv) {
    super(ctx, env);
    // biome-ignore lint/correctness/noConstructorReturn: only a proxy has every method that an agent has
    return forwardCalls(this, (work) => detachRpcResult(this.#call(work)));
  }

  override fetch(request: Request): Promise<Response> {
    return this.#call((agent) => agent.fetch(request));
  }

  #call<T>(work: (agent: Fetcher) => Promise<T>): Promise<T> {
    const { props } = this.ctx;
    const readCode = () => backend(this.env, props.ref).readCode(props.ref.secrets_version);
    return leavingFailedLoads(props.ref, () => work(openIsolate(this.env.LOADER, props, readCode)));
  }
}

export class AgentServer extends WorkerEntrypoint<HostEnv, object> {
  override fetch(request: Request): Promise<Response> {
    return mainEntrypoint(this.env, "AgentServer", this.ctx.props).fetch(request);
  }
}

export class AgentTail extends WorkerEntrypoint<HostEnv, TailProps> {
  override async tail(events: TraceItem[]): Promise<void> {
    const lines = toLines(this.ctx.props.revision_id, events);
    if (lines.length > 0) await backend(this.env, this.ctx.props).appendLines(lines);
  }

  /** Stores lines of a call that still runs. `tail` receives them again at its end. */
  async early(lines: ReceivedLine[]): Promise<void> {
    await backend(this.env, this.ctx.props).early(lines);
  }
}

/** Answers the pool's pings. */
export default { fetch: () => new Response("pong") };
