import type { Filters } from "../../../shared/filters.ts";
import { inRegion } from "../../../shared/storage/objects.ts";
import { type Session, socketHeaders } from "../events/session.ts";
import type { AllCalls, FilteredCall, ThreadCalls } from "./thread-calls.ts";

/** A thread as somebody sees it who may see only some: of every other one no call finds anything. */
export function threadWithFilters(
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
        : (...args: unknown[]) => stub.withFilters(filters, { method, args } as FilteredCall),
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

/** A socket cannot cross RPC, so the session is a header of a request that only this Worker can send. */
export function threadSocket(env: Env, deployment_id: string, session: Session): Promise<Response> {
  const stub = inRegion(env, env.THREADS).getByName(`${deployment_id}/${session.thread_id}`);
  return stub.fetch("https://thread.internal/", { headers: socketHeaders(session) });
}
