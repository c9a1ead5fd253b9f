import type { Filters } from "../../../shared/filters.ts";
import { inRegion } from "../../../shared/storage/objects.ts";
import { avoidObject, sharedObjectOf } from "../contract/shared-objects.ts";
import { type EventSession, isElsewhere, socketHeaders } from "../events/session.ts";
import { unpackRecord } from "./packed-record.ts";
import { beginsTemporary, ELSEWHERE, type ThreadCall, type ThreadCalls } from "./thread-calls.ts";

/** A thread as its caller sees it: when the filters exclude it, each call finds nothing. */
export function threadWithFilters(
  env: Env,
  deployment_id: string,
  thread_id: string,
  filters: Filters | null,
): ThreadCalls {
  const place = { env, deployment_id, thread_id };
  return new Proxy({} as ThreadCalls, {
    get: (_, method) =>
      typeof method === "symbol" || method === "then"
        ? undefined
        : async (...args: unknown[]) =>
            unpackRecord(await callThread(place, filters, { method, args } as ThreadCall)),
  });
}

/** A thread for calls that no user makes. The name has the deployment, so a thread is never found through another. */
export function threadObject(env: Env, deployment_id: string, thread_id: string): ThreadCalls {
  return threadWithFilters(env, deployment_id, thread_id, null);
}

type ThreadAddress = { env: Env; deployment_id: string; thread_id: string };

/** Calls the shared object that the id names, if any. That may have another thread: then this one has its own object. */
async function callThread(place: ThreadAddress, filters: Filters | null, call: ThreadCall) {
  const number = sharedObjectOf(place.thread_id);
  if (number !== null) {
    const result = await sharedObject(place, number).callShared(place.thread_id, filters, call);
    if (result !== ELSEWHERE) return result;
    if (beginsTemporary(place.thread_id, call)) avoidObject(place.deployment_id, number);
  }
  return ownObject(place).call(filters, call);
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
  const place = { env, deployment_id, thread_id };
  const open = (object: Pick<Fetcher, "fetch">, isShared: boolean) =>
    object.fetch("https://thread.internal/", { headers: socketHeaders(session, isShared) });
  const number = sharedObjectOf(thread_id);
  if (number !== null) {
    const response = await open(sharedObject(place, number), true);
    if (!isElsewhere(response)) return response;
  }
  return open(ownObject(place), false);
}
