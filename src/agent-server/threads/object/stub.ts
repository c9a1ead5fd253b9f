import type { Filters } from "../../../shared/filters.ts";
import { inRegion } from "../../../shared/storage/objects.ts";
import { avoidObject, sharedObjectOf } from "../contract/shared-objects.ts";
import { type EventSession, isElsewhere, socketHeaders } from "../events/session.ts";
import { unpackRecord } from "./packed-record.ts";
import { beginsTemporary, ELSEWHERE, type ThreadCall, type ThreadCalls } from "./thread-calls.ts";

/** Returns the methods of a thread. When the filters hide the thread, each one returns its `notFoundResult`. */
export function threadWithFilters(
  env: Env,
  deployment_id: string,
  thread_id: string,
  filters: Filters | null,
): ThreadCalls {
  const address = { env, deployment_id, thread_id };
  return new Proxy({} as ThreadCalls, {
    get: (_, method) =>
      // An object with a method `then` would be awaited as a promise.
      typeof method === "symbol" || method === "then"
        ? undefined
        : async (...args: unknown[]) =>
            unpackRecord(await callThread(address, filters, { method, args } as ThreadCall)),
  });
}

/**
 * Returns the methods of a thread for internal calls. The name of its object has the deployment, so a thread is not
 * found through another deployment.
 */
export function threadObject(env: Env, deployment_id: string, thread_id: string): ThreadCalls {
  return threadWithFilters(env, deployment_id, thread_id, null);
}

type ThreadAddress = { env: Env; deployment_id: string; thread_id: string };

/**
 * Calls the shared object whose number the thread id has, if any. When that object does not have the thread, calls the
 * thread's own object.
 */
async function callThread(address: ThreadAddress, filters: Filters | null, call: ThreadCall) {
  const number = sharedObjectOf(address.thread_id);
  if (number !== null) {
    const result = await sharedObject(address, number).callShared(address.thread_id, filters, call);
    if (result !== ELSEWHERE) return result;
    if (beginsTemporary(address.thread_id, call)) avoidObject(address.deployment_id, number);
  }
  return ownObject(address).call(filters, call);
}

function ownObject({ env, deployment_id, thread_id }: ThreadAddress) {
  return inRegion(env, env.THREADS).getByName(`${deployment_id}/${thread_id}`);
}

function sharedObject({ env, deployment_id }: ThreadAddress, number: number) {
  return inRegion(env, env.THREADS).getByName(`${deployment_id}/shared/${number}`);
}

/** Sockets cannot cross RPC, so a header carries the session. Only this Worker can send requests to the object. */
export async function threadSocket(
  env: Env,
  deployment_id: string,
  session: EventSession,
): Promise<Response> {
  const { thread_id } = session;
  const address = { env, deployment_id, thread_id };
  const open = (object: Pick<Fetcher, "fetch">, isShared: boolean) =>
    object.fetch("https://thread.internal/", { headers: socketHeaders(session, isShared) });
  const number = sharedObjectOf(thread_id);
  if (number !== null) {
    const response = await open(sharedObject(address, number), true);
    if (!isElsewhere(response)) return response;
  }
  return open(ownObject(address), false);
}
