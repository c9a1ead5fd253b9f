import type { DurableObject } from "cloudflare:workers";
import type { Filters } from "../shared/filters.ts";
import { inRegion } from "../shared/objects.ts";
import type { ThreadObject } from "./object.ts";
import type { Session } from "./protocol/session.ts";
import type { SeenCall } from "./seen.ts";

// The types of RPC turn `unknown`, which client data is, into `never`; the calls are what the class says.
type AllCalls = Omit<ThreadObject, keyof DurableObject | "alarm">;
export type ThreadCalls = Omit<AllCalls, "seenBy">;

/** A thread as somebody sees it who may see only some: of every other one no call finds anything. */
export function threadAs(
  env: Env,
  deployment_id: string,
  thread_id: string,
  filters: Filters | null,
): ThreadCalls {
  if (filters === null) return threadObject(env, deployment_id, thread_id);
  const stub = objectOf(env, deployment_id, thread_id);
  return new Proxy({} as ThreadCalls, {
    get: (_, method) =>
      typeof method === "symbol" || method === "then"
        ? undefined
        : (...args: unknown[]) => stub.seenBy(filters, { method, args } as SeenCall),
  });
}

/** The object of a thread, for what acts for nobody. Its name holds the deployment, so a thread is never found through another. */
export function threadObject(env: Env, deployment_id: string, thread_id: string): ThreadCalls {
  return objectOf(env, deployment_id, thread_id);
}

function objectOf(env: Env, deployment_id: string, thread_id: string): AllCalls {
  return inRegion(env, env.THREADS).getByName(
    `${deployment_id}/${thread_id}`,
  ) as unknown as AllCalls;
}

const SESSION = "Heddle-Session";

/** A socket cannot pass over RPC: the object is asked by a request, which only this Worker can send. */
export function threadSocket(env: Env, deployment_id: string, session: Session): Promise<Response> {
  const stub = inRegion(env, env.THREADS).getByName(`${deployment_id}/${session.thread_id}`);
  const headers = { Upgrade: "websocket", [SESSION]: encodeURIComponent(JSON.stringify(session)) };
  return stub.fetch("https://thread.internal/", { headers });
}

export function sessionOf(request: Request): Session {
  return JSON.parse(decodeURIComponent(request.headers.get(SESSION) ?? "")) as Session;
}
