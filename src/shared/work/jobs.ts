import { log } from "../log.ts";
import { count } from "../metrics/metrics.ts";

const RETRY_SECONDS = 2;

/** Settles one message of a batch. A message that fails is delivered again, up to `max_retries` of wrangler.toml. */
export async function settleMessage<T>(
  message: Message<T>,
  consume: (body: T) => Promise<void>,
): Promise<void> {
  try {
    await consume(message.body);
    message.ack();
  } catch (error) {
    log.error("message_failed", error, { message_id: message.id, attempts: message.attempts });
    count("heddle_messages_failed_total", {});
    message.retry({ delaySeconds: RETRY_SECONDS });
  }
}

/** Job of the cron. Does a bounded amount of work, and may run twice. */
export type Job = (env: Env, now: Date) => Promise<void>;

/** Runs the jobs of a tick. A failing job runs again with the next tick and does not affect the others. */
export async function runJobs(jobs: readonly Job[], env: Env, now: Date): Promise<void> {
  await Promise.all(
    jobs.map(async (job) => {
      try {
        await job(env, now);
      } catch (error) {
        log.error("job_failed", error, { job: job.name });
        count("heddle_jobs_failed_total", { job: job.name });
      }
    }),
  );
}
