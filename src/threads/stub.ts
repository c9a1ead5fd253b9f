import type { DurableObject } from "cloudflare:workers";
import { inRegion } from "../shared/objects.ts";
import type { ThreadObject } from "./object.ts";

// The types of RPC turn `unknown`, which client data is, into `never`; the calls are what the class says.
export type ThreadCalls = Omit<ThreadObject, keyof DurableObject | "alarm">;

/** The object of a thread. Its name holds the deployment, so a thread is never found through another. */
export function threadObject(env: Env, deployment_id: string, thread_id: string): ThreadCalls {
  return inRegion(env, env.THREADS).getByName(
    `${deployment_id}/${thread_id}`,
  ) as unknown as ThreadCalls;
}
