import { AsyncLocalStorage } from "node:async_hooks";

/** The agent server that this agent is of, as its own code may call it. */
export type Server = { fetch(request: Request): Promise<Response> };

const servers = new AsyncLocalStorage<Server>();

/** Where a client of the SDK that is given no URL sends its calls, by way of `globals.ts`. */
Reflect.set(globalThis, Symbol.for("heddle:fetch"), callServer);

async function callServer(input: RequestInfo, init?: RequestInit): Promise<Response> {
  const server = servers.getStore();
  if (server) return server.fetch(new Request(input, init));
  throw new Error("A client without a URL reaches this server while a run or a request is served.");
}

/** What `work` asks of this agent's own server goes there. */
export function besideServer<T>(server: Server | undefined, work: () => Promise<T>): Promise<T> {
  return server ? servers.run(server, work) : work();
}
