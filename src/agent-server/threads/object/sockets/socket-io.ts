import { closeReason } from "../../../../shared/http/sockets.ts";
import { MAX_ATTACHMENT_BYTES } from "../../events/limits.ts";
import type { Attachment, SessionRefusal } from "../../events/session.ts";
import type { SendBudget } from "./send-budget.ts";

const TOO_MANY_EVENTS =
  "Over 64 Mi characters in a minute: read the rest by SSE, POST stream/events with `since`.";

export function attachmentOf(socket: WebSocket): Attachment {
  return socket.deserializeAttachment() as Attachment;
}

/** @returns false when the state is larger than a socket's attachment may be. */
export function attach(socket: WebSocket, attachment: Attachment): boolean {
  const { byteLength } = new TextEncoder().encode(JSON.stringify(attachment));
  if (byteLength > MAX_ATTACHMENT_BYTES) return false;
  socket.serializeAttachment(attachment);
  return true;
}

export function refuse(socket: WebSocket, { status, message }: SessionRefusal) {
  socket.close(4000 + status, closeReason(message));
}

export function send(socket: WebSocket, message: object) {
  socket.send(JSON.stringify(message));
}

/**
 * Sends the texts while they fit into the budget. The SDK reconnects after most close codes and subscribes
 * again, and the same replay would exceed the budget again. After 4413 it ends with an error instead.
 * @returns `false` when the socket was closed
 */
export function sendWithin(socket: WebSocket, texts: string[], budget: SendBudget): boolean {
  for (const text of texts) {
    if (!budget.spend(text.length)) {
      refuse(socket, { status: 413, message: TOO_MANY_EVENTS });
      return false;
    }
    socket.send(text);
  }
  return true;
}
