import { inRegion } from "../../shared/storage/objects.ts";
import { ROOT } from "../../shared/storage/slots.ts";
import type { StoreCalls, StoreSlot } from "./storage/calls.ts";

const MAX_KNOWN_DEPLOYMENTS = 1000;

/** Slots by deployment that this isolate knows to be divided. A divided slot stays divided. */
const divided = new Map<string, Set<number>>();

/** Returns the stub of an object of a deployment's store. Only this function knows the object's name. */
export function storeObject(env: Env, { deployment_id, slot }: StoreSlot): StoreCalls {
  const name = slot === ROOT ? deployment_id : `${deployment_id}/${slot}`;
  // RPC types map `unknown`, the type of client data, to `never`, so the methods of the class are used.
  return inRegion(env, env.STORES).getByName(name) as unknown as StoreCalls;
}

export function isKnownDivided({ deployment_id, slot }: StoreSlot): boolean {
  return divided.get(deployment_id)?.has(slot) ?? false;
}

export function learnDivided({ deployment_id, slot }: StoreSlot): void {
  const slots = divided.get(deployment_id);
  if (slots) return void slots.add(slot);
  const [oldest] = divided.keys();
  if (oldest !== undefined && divided.size >= MAX_KNOWN_DEPLOYMENTS) divided.delete(oldest);
  divided.set(deployment_id, new Set([slot]));
}
