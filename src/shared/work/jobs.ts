import { log } from "../log.ts";

/** Does a bounded batch, and may run twice. */
export type Job = (env: Env, now: Date) => Promise<void>;

/** Runs the jobs of a tick. A failing job runs again with the next tick and does not affect the others. */
export async function runJobs(jobs: readonly Job[], env: Env, now: Date): Promise<void> {
  await Promise.all(
    jobs.map(async (job) => {
      try {
        await job(env, now);
      } catch (error) {
        log.error("job_failed", error, { job: job.name });
      }
    }),
  );
}
