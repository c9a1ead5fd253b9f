import { AsyncLocalStorage } from "node:async_hooks";
import type { Server } from "../environment-contract.ts";
import { track } from "./pending-work.ts";

const servers = new AsyncLocalStorage<Server>();

/** The SDK reads this function when it creates a client without a URL. */
Reflect.set(globalThis, Symbol.for("langgraph_api:fetch"), callServer);

async function callServer(input: RequestInfo, init?: RequestInit): Promise<Response> {
  const server = servers.getStore();
  if (server) return track(server.fetch(new Request(input, init)));
  throw new Error(
    "A client without a URL works in a run, a request to http.app or a read of a graph, and not in auth or while a module loads.",
  );
}

/** Routes calls of `work` to this agent's own server. */
export function withServer<T>(server: Server | undefined, work: () => Promise<T>): Promise<T> {
  return server ? servers.run(server, work) : work();
}
