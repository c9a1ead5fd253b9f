// Miniflare's broker finishes a batch before it starts the next one of its queue, so the slowest server of any
// workspace would delay all others. Here a batch ends at once, and its messages are consumed in the background, at the
// same time: Cloudflare has many consumers. Batches of deletions are the exception.
import worker, { type QueueMessage } from "../../src/index.ts";

/** Messages whose batch ends after their work, which calls no remote server. */
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
 * Retries as often as the platform, but without a dead-letter queue. A message that was lost with the process is sent
 * again by the sweep or, for a prebuild, by the next build.
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
