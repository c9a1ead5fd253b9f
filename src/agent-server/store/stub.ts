import type { DurableObject } from "cloudflare:workers";
import { inRegion } from "../../shared/storage/objects.ts";
import type { StoreObject } from "./object.ts";

// The types of RPC turn `unknown`, which client data is, into `never`; the calls are what the class says.
type StoreCalls = Omit<StoreObject, keyof DurableObject | "alarm">;

export function storeObject(env: Env, deployment_id: string): StoreCalls {
  return inRegion(env, env.STORES).getByName(deployment_id) as unknown as StoreCalls;
}
