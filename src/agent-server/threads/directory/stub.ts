import { inRegion } from "../../../shared/storage/objects.ts";
import { ROOT, slotsUpTo } from "../../../shared/storage/slots.ts";
import { knownGeneration, learnGeneration } from "../contract/directory-slots.ts";
import type { DirectoryCalls, GenerationInfo } from "./calls.ts";

type Read<T> = (directory: DirectoryCalls, slot: number) => Promise<T>;

/** Returns the stub of an object of a deployment's directory. Only this function knows the object's name. */
export function directoryObject(env: Env, deployment_id: string, slot = ROOT): DirectoryCalls {
  const name = slot === ROOT ? deployment_id : `${deployment_id}/${slot}`;
  // RPC types map `unknown`, the type of client data, to `never`, so the methods of the class are used.
  return inRegion(env, env.DIRECTORIES).getByName(name) as unknown as DirectoryCalls;
}

/** Reads all objects of a directory in parallel: those that the isolate knows, then those that the root adds. */
export async function readDirectory<T extends GenerationInfo>(
  env: Env,
  deployment_id: string,
  read: Read<T>,
): Promise<T[]> {
  const readSlot = (slot: number) => read(directoryObject(env, deployment_id, slot), slot);
  const known = slotsUpTo(knownGeneration(deployment_id));
  const results = await Promise.all(known.map(readSlot));
  learnGeneration(deployment_id, results[ROOT]?.generation ?? 0);
  const others = slotsUpTo(knownGeneration(deployment_id)).slice(known.length);
  return [...results, ...(await Promise.all(others.map(readSlot)))];
}

/** Visits the objects of a directory one after the other, the root first, until `visit` has enough. */
export async function visitDirectory(
  env: Env,
  deployment_id: string,
  visit: Read<GenerationInfo & { isEnough: boolean }>,
): Promise<void> {
  for (let slot = ROOT; slot < slotsUpTo(knownGeneration(deployment_id)).length; slot++) {
    const { generation, isEnough } = await visit(directoryObject(env, deployment_id, slot), slot);
    learnGeneration(deployment_id, generation);
    if (isEnough) return;
  }
}
