import type { DurableObject } from "cloudflare:workers";
import type { ThreadObject } from "./object.ts";

// The types of RPC turn `unknown`, which client data is, into `never`; the calls are what the class says.
export type ThreadCalls = Omit<ThreadObject, keyof DurableObject | "alarm">;

type Jurisdiction = Parameters<DurableObjectNamespace["jurisdiction"]>[0];

/** The object of a thread. Its name holds the deployment, so a thread is never found through another. */
export function threadObject(env: Env, deployment_id: string, thread_id: string): ThreadCalls {
  // The variable is "us" or "eu" in a region and empty on a single machine.
  const jurisdiction = env.DATA_JURISDICTION as Jurisdiction | "";
  const namespace = jurisdiction ? env.THREADS.jurisdiction(jurisdiction) : env.THREADS;
  return namespace.getByName(`${deployment_id}/${thread_id}`) as unknown as ThreadCalls;
}
