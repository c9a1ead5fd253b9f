import type { DurableObject } from "cloudflare:workers";
import { inRegion } from "../shared/objects.ts";
import type { CronObject } from "./object.ts";

// The types of RPC turn `unknown`, which client data is, into `never`; the calls are what the class says.
export type CronCalls = Omit<CronObject, keyof DurableObject | "alarm">;

export function cronObject(env: Env, deployment_id: string): CronCalls {
  return inRegion(env, env.CRONS).getByName(deployment_id) as unknown as CronCalls;
}
