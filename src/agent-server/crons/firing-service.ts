import type { z } from "zod";
import type { Context } from "../../shared/context.ts";
import { AppError } from "../../shared/errors.ts";
import { mapConcurrent } from "../../shared/work/chunks.ts";
import { createRun } from "../threads/api/runs/run-service.ts";
import { Run } from "../threads/contract/requests/run-schema.ts";
import { threadObject } from "../threads/object/stub.ts";
import { firingId, toInput } from "./firing.ts";
import type { FiringRow } from "./records.ts";
import type { CronFiring } from "./schema.ts";
import { type CronId, openCrons } from "./service.ts";
import { cronObject } from "./stub.ts";

/** Requests within the same second derive the same id, and so start one run. */
const SECOND_MS = 1000;
const AT_ONCE = 10;

/** Lists the last firings of a cron, the newest first. */
export async function listCronFirings(
  ctx: Context,
  { deployment_id, cron_id }: CronId,
): Promise<CronFiring[]> {
  const { object, agent } = await openCrons(ctx, deployment_id, "read", { cron_id });
  const found = await object.listFirings(cron_id);
  if (found === null) throw cronMissing(cron_id);
  return mapConcurrent(found, AT_ONCE, async (firing) => ({
    ...toFiring(firing),
    run_status: await firedRunStatus(ctx, agent.deployment_id, firing),
  }));
}

/** Starts a run of a cron now, with the rights of the caller. The schedule stays as it is. */
export async function fireCron(
  ctx: Context,
  { deployment_id, cron_id, origin }: CronId & { origin: string },
): Promise<z.infer<typeof Run>> {
  const { object } = await openCrons(ctx, deployment_id, "update", { cron_id });
  const cron = await object.getCron(cron_id);
  if (cron === null) throw cronMissing(cron_id);
  const now = Date.now();
  // Schedules fire at whole minutes: with the added millisecond the id differs from that of a firing of the schedule.
  const at = Math.floor(now / SECOND_MS) * SECOND_MS + 1;
  const run_id = await firingId(cron, at);
  const target = { deployment_id, thread_id: cron.thread_id, headers: {}, origin, run_id };
  const run = await createRun(ctx, target, toInput(cron));
  await cronObject(ctx.env, cron.deployment_id).recordFiring({
    cron_id,
    at,
    fired_at: now,
    is_manual: true,
    outcome: "started",
    message: null,
    run_id: run.run_id,
    thread_id: run.thread_id,
  });
  return Run.parse(run);
}

async function firedRunStatus(
  { env }: Context,
  deployment_id: string,
  { thread_id, run_id }: FiringRow,
): Promise<CronFiring["run_status"]> {
  if (thread_id === null || run_id === null) return null;
  const run = await threadObject(env, deployment_id, thread_id).getRun(run_id);
  return run?.status ?? null;
}

function toFiring({
  at,
  fired_at,
  is_manual,
  outcome,
  ...firing
}: FiringRow): Omit<CronFiring, "run_status"> {
  return {
    scheduled_at: new Date(at).toISOString(),
    fired_at: new Date(fired_at).toISOString(),
    is_manual,
    outcome: outcome === "retry" ? "waiting" : outcome,
    run_id: firing.run_id,
    thread_id: firing.thread_id,
    message: firing.message,
  };
}

function cronMissing(cron_id: string): AppError {
  return new AppError("not_found", `Cron with ID ${cron_id} not found`);
}
