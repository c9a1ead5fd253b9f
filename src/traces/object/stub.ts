import type { DurableObject } from "cloudflare:workers";
import { inRegion } from "../../shared/storage/objects.ts";
import type { PartitionKey } from "../changes.ts";
import type { TracePartition } from "./object.ts";

// RPC types change optional fields of arguments, so calls use the types of the class.
export type PartitionCalls = Omit<TracePartition, keyof DurableObject | "alarm">;

/** Returns the stub. Callers must have found the project in their workspace. */
export function tracePartition(env: Env, { project_id, day, slot }: PartitionKey): PartitionCalls {
  return inRegion(env, env.PARTITIONS).getByName(
    `${project_id}/${day}/${slot}`,
  ) as unknown as PartitionCalls;
}
