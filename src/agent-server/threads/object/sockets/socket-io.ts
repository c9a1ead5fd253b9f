import { closeReason } from "../../../../shared/http/sockets.ts";
import { MAX_ATTACHMENT_BYTES } from "../../events/limits.ts";
import type { Attachment, EventSession, SessionRefusal } from "../../events/session.ts";
import type { SendBudget } from "./send-budget.ts";

const TOO_MANY_EVENTS =
  "Over 64 Mi characters in a minute: read the rest by SSE, POST stream/events with `since`.";

const USER_TOO_LARGE =
  "The agent's user is too large for a socket (12 KiB): return less from authenticate, or use SSE.";
const HEADERS_TOO_LARGE =
  "The x- headers of the request are too large for a socket (12 KiB): send fewer, or use SSE.";

export function attachmentOf(socket: WebSocket): Attachment {
  return socket.deserializeAttachment() as Attachment;
}

/** @returns `false` also for a socket that was refused, which has no attachment */
export function isOfThread(socket: WebSocket, thread_id: string): boolean {
  const attachment = socket.deserializeAttachment() as Attachment | null;
  return attachment?.session.thread_id === thread_id;
}

/** @returns `false` when the state is larger than a socket's attachment may be */
export function attach(socket: WebSocket, attachment: Attachment): boolean {
  if (sizeOf(attachment) > MAX_ATTACHMENT_BYTES) return false;
  socket.serializeAttachment(attachment);
  return true;
}

/** @returns the reason of the close, at most 100 characters, which names the larger part of a session */
export function tooLargeText({ user, headers }: EventSession): string {
  return sizeOf(user) > sizeOf(headers) ? USER_TOO_LARGE : HEADERS_TOO_LARGE;
}

function sizeOf(value: unknown): number {
  return new TextEncoder().encode(JSON.stringify(value)).byteLength;
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
