import { log } from "../shared/log.ts";

export type BuildMessage = { revision_id: string };
export type DeletionMessage = { deployment_id: string };

/** The row says that there is work; a message only hurries. When it is lost, the sweep sends it again. */
export async function sendOrLeave<T extends BuildMessage | DeletionMessage>(
  queue: Queue<T>,
  message: T,
): Promise<void> {
  try {
    await queue.send(message);
  } catch (error) {
    log.error("message_not_sent", error, { ...message });
  }
}

export function isBuildMessage(body: unknown): body is BuildMessage {
  return has(body, "revision_id");
}

export function isDeletionMessage(body: unknown): body is DeletionMessage {
  return has(body, "deployment_id");
}

function has(body: unknown, field: string): boolean {
  if (typeof body !== "object" || body === null) return false;
  return field in body && typeof Reflect.get(body, field) === "string";
}
