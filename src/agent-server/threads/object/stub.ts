import type { Filters } from "../../../shared/filters.ts";
import { inRegion } from "../../../shared/storage/objects.ts";
import { type Session, socketHeaders } from "../events/session.ts";
import { unpackRecord } from "./packed-record.ts";
import type { ThreadCall, ThreadCalls } from "./thread-calls.ts";

/** A thread as its caller sees it: when the filters exclude it, each call finds nothing. */
export function threadWithFilters(
  env: Env,
  deployment_id: string,
  thread_id: string,
  filters: Filters | null,
): ThreadCalls {
  const stub = objectOf(env, deployment_id, thread_id);
  return new Proxy({} as ThreadCalls, {
    get: (_, method) =>
      typeof method === "symbol" || method === "then"
        ? undefined
        : async (...args: unknown[]) =>
            unpackRecord(await stub.call(filters, { method, args } as ThreadCall)),
  });
}

/** A thread for calls that no user makes. The name has the deployment, so a thread is never found through another. */
export function threadObject(env: Env, deployment_id: string, thread_id: string): ThreadCalls {
  return threadWithFilters(env, deployment_id, thread_id, null);
}

function objectOf(env: Env, deployment_id: string, thread_id: string) {
  return inRegion(env, env.THREADS).getByName(`${deployment_id}/${thread_id}`);
}

/** Sockets cannot cross RPC, so a header carries the session. Only this Worker can send requests to the object. */
export function threadSocket(env: Env, deployment_id: string, session: Session): Promise<Response> {
  const stub = objectOf(env, deployment_id, session.thread_id);
  return stub.fetch("https://thread.internal/", { headers: socketHeaders(session) });
}
