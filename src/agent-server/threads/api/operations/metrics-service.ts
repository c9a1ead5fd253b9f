import type { Context } from "../../../../shared/context.ts";
import { AppError } from "../../../../shared/errors.ts";
import { authorize, openAgent } from "../../../access/service.ts";
import { visitBusyThreads } from "../../directory/busy-threads.ts";
import { countByStatus } from "../../directory/directory.ts";
import { threadObject } from "../../object/stub.ts";
import type { Metrics } from "./metrics-schema.ts";

/** Counts threads in the directory, and runs in each busy thread. Leaves out temporary threads and their runs. */
export async function getMetrics(ctx: Context, deployment: string): Promise<Metrics> {
  const { deployment_id, revision_id } = await openAgent(ctx, deployment, "read");
  await assertSeesAll(ctx);
  const [threads, queue] = await Promise.all([
    countByStatus(ctx, { deployment_id }, {}),
    getQueue(ctx, deployment_id),
  ]);
  return { deployment_id, revision_id, threads, queue };
}

/** Counts cover all threads, so the caller must be allowed to see all of them. */
async function assertSeesAll(ctx: Context): Promise<void> {
  const request = { resource: "threads", action: "search", value: {} } as const;
  const { filters } = await authorize(ctx, request);
  if (filters === null) return;
  throw new AppError(
    "forbidden",
    "Metrics cover all threads: the agent's auth allows the caller only some.",
  );
}

async function getQueue(ctx: Context, deployment_id: string): Promise<Metrics["queue"]> {
  const now = Date.now();
  let [n_pending, n_running, since] = [0, 0, now];
  const wereAll = await visitBusyThreads(ctx, { deployment_id }, async (thread_ids) => {
    const queues = thread_ids.map((id) => threadObject(ctx.env, deployment_id, id).getQueue());
    for (const queue of await Promise.all(queues)) {
      n_pending += queue.pending;
      n_running += queue.running;
      since = Math.min(since, queue.since ?? now);
    }
  });
  if (!wereAll) return null;
  return { n_pending, n_running, pending_runs_wait_time_max_secs: (now - since) / 1000 };
}
