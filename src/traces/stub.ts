import type { DurableObject } from "cloudflare:workers";
import type { Place, TracePartition } from "./object.ts";

// The types of RPC turn optional fields of what is sent into another type; the calls are what the class says.
export type PartitionCalls = Omit<TracePartition, keyof DurableObject | "alarm">;

type Jurisdiction = Parameters<DurableObjectNamespace["jurisdiction"]>[0];

/** The project was found in the caller's workspace first: only its id leads to its partitions. */
export function tracePartition(env: Env, { project_id, day, slot }: Place): PartitionCalls {
  // The variable is "us" or "eu" in a region and empty on a single machine.
  const jurisdiction = env.DATA_JURISDICTION as Jurisdiction | "";
  const namespace = jurisdiction ? env.PARTITIONS.jurisdiction(jurisdiction) : env.PARTITIONS;
  return namespace.getByName(`${project_id}/${day}/${slot}`) as unknown as PartitionCalls;
}
