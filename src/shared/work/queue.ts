import { log } from "../log.ts";
import { chunks } from "./chunks.ts";

/** `type` selects the consumer. The other fields are ids of rows. */
type QueueMessage = { type: string };

/** Limit of Queues for one call. */
const MAX_BATCH = 100;

/** Sends messages that only speed up the work of rows. Logs a failure: the sweep recovers lost messages. */
export async function sendAllOrLeave<T extends QueueMessage>(
  queue: Queue<T>,
  messages: readonly T[],
  delaySeconds = 0,
): Promise<void> {
  try {
    for (const batch of chunks(messages, MAX_BATCH)) {
      await queue.sendBatch(
        batch.map((body) => ({ body })),
        { delaySeconds },
      );
    }
  } catch (error) {
    log.error("message_not_sent", error, { ...messages[0], messages: messages.length });
  }
}
