import { type DurableObject, WorkerEntrypoint } from "cloudflare:workers";
import type { Filters } from "../../shared/filters.ts";
import { inRegion } from "../../shared/storage/objects.ts";
import type { CronObject } from "./object.ts";

// RPC types map `unknown`, the type of client data, to `never`, so the methods of the class are used.
type CronCalls = Omit<CronObject, keyof DurableObject | "alarm">;

type SingleCronCalls = Pick<CronCalls, "getCron" | "listFirings" | "updateCron" | "deleteCron">;

/** Crons that the authorization filters hide do not exist for these calls. */
export function cronsWithFilters(
  env: Env,
  deployment_id: string,
  filters: Filters | null,
): SingleCronCalls {
  const object = cronObject(env, deployment_id);
  return {
    getCron: (cron_id) => object.getCron(cron_id, filters),
    listFirings: (cron_id) => object.listFirings(cron_id, filters),
    updateCron: (cron_id, change) => object.updateCron(cron_id, change, filters),
    deleteCron: (cron_id) => object.deleteCron(cron_id, filters),
  };
}

export function cronObject(env: Env, deployment_id: string): CronCalls {
  return inRegion(env, env.CRONS).getByName(deployment_id) as unknown as CronCalls;
}

/** Deletes the crons of a thread or an assistant that is being deleted. */
export class ThreadCrons extends WorkerEntrypoint<Env> {
  async end(deployment_id: string, thread_id: string): Promise<void> {
    await cronObject(this.env, deployment_id).endOfThread(thread_id);
  }

  async endOfAssistant(deployment_id: string, assistant_id: string): Promise<void> {
    await cronObject(this.env, deployment_id).endOfAssistant(assistant_id);
  }
}
