import type { DurableObject } from "cloudflare:workers";
import { inRegion } from "../../shared/storage/objects.ts";
import type { StoreObject } from "./object.ts";

// RPC types map `unknown`, the type of client data, to `never`, so the methods of the class are used.
type StoreCalls = Omit<StoreObject, keyof DurableObject | "alarm">;

export function storeObject(env: Env, deployment_id: string): StoreCalls {
  return inRegion(env, env.STORES).getByName(deployment_id) as unknown as StoreCalls;
}
