import { eq } from "drizzle-orm";
import { ThreadHost } from "../../src/agent-server/threads/object/loop/thread-host.ts";
import type {
  IsolateCall,
  IsolateRef,
} from "../../src/control-plane/deployments/isolate/isolate.ts";
import { deployments } from "../../src/control-plane/deployments/table.ts";
import { database } from "../../src/shared/context.ts";
import { forwardCalls, type MainEnv } from "./debug-port.ts";
import { claimProcess, toLossError } from "./processes.ts";

/** The service of local/entries/isolate-host.ts in the process of a workspace. */
const HOST_SERVICE = "script";

/** Workspace by deployment, kept for good: a deployment never moves to another workspace. */
const workspaces = new Map<string, string>();

/** Returns the entrypoint of an isolate in the process of its workspace. */
export function isolateProxy(env: Env, call: IsolateCall): Fetcher {
  // serve.ts binds more than wrangler.toml names.
  const mainEnv = env as MainEnv;
  const forward = <T>(work: (agent: Fetcher) => Promise<T>, args: unknown[] = []) =>
    callIsolate(mainEnv, call, work, hostOf(args));
  const fetch: Fetcher["fetch"] = (input, init) => forward((agent) => agent.fetch(input, init));
  // `forwardCalls` adds the entrypoint's other methods. A Fetcher's method for sockets is not used.
  return forwardCalls({ fetch }, forward) as Fetcher;
}

async function callIsolate<T>(
  env: MainEnv,
  call: IsolateCall,
  work: (agent: Fetcher) => Promise<T>,
  host: ThreadHost | undefined,
): Promise<T> {
  const key = await processKey(env, call.ref);
  const address = await claimProcess(env, key);
  try {
    const client = env.DEBUG_PORT.connect(address);
    // RPC does not show when the isolate has received the answers of the host. The answers and the ping use one
    // connection, in order: the isolate's process answers the ping after it has received the answers.
    const confirm = async () => {
      const pong = await client.getEntrypoint(HOST_SERVICE).fetch("http://ping");
      await pong.text();
    };
    if (host) ThreadHost.confirmReads(host, confirm);
    return await work(client.getEntrypoint(HOST_SERVICE, "Isolate", call));
  } catch (error) {
    throw await toLossError(env, key, address, error);
  }
}

function hostOf(args: unknown[]): ThreadHost | undefined {
  return args.find((arg) => arg instanceof ThreadHost);
}

/**
 * Returns the key of a call's process. Calls in quarantine have another process than other calls of their workspace.
 */
async function processKey(env: Env, { deployment_id, quarantine }: IsolateRef): Promise<string> {
  const workspace_id = await workspaceOf(env, deployment_id);
  return quarantine === undefined ? workspace_id : `${workspace_id}:quarantine`;
}

async function workspaceOf(env: Env, deployment_id: string): Promise<string> {
  const known = workspaces.get(deployment_id);
  if (known !== undefined) return known;
  const [row] = await database(env)
    .select({ workspace_id: deployments.workspace_id })
    .from(deployments)
    .where(eq(deployments.id, deployment_id));
  if (!row) throw new Error(`Deployment ${deployment_id} does not exist.`);
  workspaces.set(deployment_id, row.workspace_id);
  return row.workspace_id;
}
