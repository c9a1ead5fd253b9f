// Miniflare's broker waits for each batch before the next one of its queue, and so for the slowest server of any
// workspace. Batches end at once here, and their messages are consumed in the background, as by the platform's many consumers.
import worker, { type QueueMessage } from "../../src/index.ts";

/** Their steps use this process alone, one after the other: no remote server prolongs them. */
const DELETIONS: QueueMessage["type"][] = [
  "deployment_deletion",
  "project_deletion",
  "trace_expiry",
];
/** The `max_retries` of wrangler.toml. */
const MAX_RETRIES = 5;

/** The flag `queue_consumer_no_wait_for_wait_until` of the local stack ends the batch before this work. */
export async function consumeInBackground(
  batch: MessageBatch<QueueMessage>,
  env: Env,
  ctx: ExecutionContext,
): Promise<void> {
  if (batch.messages.every(({ body }) => DELETIONS.includes(body.type))) {
    return worker.queue(batch, env);
  }
  for (const message of batch.messages) ctx.waitUntil(consume(batch, message, env));
}

/**
 * Retries like the platform. A message that was lost with the process comes again: the sweep sends it, or, for a prebuild,
 * the next build.
 */
async function consume(
  batch: MessageBatch<QueueMessage>,
  { id, timestamp, body }: Message<QueueMessage>,
  env: Env,
): Promise<void> {
  for (let attempts = 1; attempts <= 1 + MAX_RETRIES; attempts++) {
    let retry_s: number | null = null;
    const message: Message<QueueMessage> = {
      ...{ id, timestamp, body, attempts },
      ack() {},
      retry(options) {
        retry_s = options?.delaySeconds ?? 0;
      },
    };
    await worker.queue({ ...batch, queue: batch.queue, messages: [message] }, env);
    if (retry_s === null) return;
    await scheduler.wait(retry_s * 1000);
  }
}
