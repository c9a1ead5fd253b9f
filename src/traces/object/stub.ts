import type { DurableObject } from "cloudflare:workers";
import { inRegion } from "../../shared/storage/objects.ts";
import type { Place, TracePartition } from "./object.ts";

// The types of RPC turn optional fields of what is sent into another type; the calls are what the class says.
export type PartitionCalls = Omit<TracePartition, keyof DurableObject | "alarm">;

/** The project was found in the caller's workspace first: only its id leads to its partitions. */
export function tracePartition(env: Env, { project_id, day, slot }: Place): PartitionCalls {
  return inRegion(env, env.PARTITIONS).getByName(
    `${project_id}/${day}/${slot}`,
  ) as unknown as PartitionCalls;
}
