import { log } from "../log.ts";
import { chunks } from "./chunks.ts";

type Message = Record<string, string>;

const MOST_OF_ONE_SEND = 100;

/** Sends a message that only speeds up the work of a row: the sweep recovers a lost one. */
export function sendOrLeave<T extends Message>(queue: Queue<T>, message: T): Promise<void> {
  return orLeave(() => queue.send(message), message);
}

export function sendAllOrLeave<T extends Message>(
  queue: Queue<T>,
  messages: readonly T[],
  delaySeconds = 0,
): Promise<void> {
  const sendAll = async () => {
    for (const batch of chunks(messages, MOST_OF_ONE_SEND)) {
      await queue.sendBatch(
        batch.map((body) => ({ body })),
        { delaySeconds },
      );
    }
  };
  return orLeave(sendAll, { ...messages[0], messages: messages.length });
}

/** Distinguishes messages by their id field. */
export function carries(body: unknown, field: string): boolean {
  if (typeof body !== "object" || body === null) return false;
  return field in body && typeof Reflect.get(body, field) === "string";
}

async function orLeave(send: () => Promise<unknown>, fields: Record<string, string | number>) {
  try {
    await send();
  } catch (error) {
    log.error("message_not_sent", error, fields);
  }
}
