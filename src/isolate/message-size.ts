const MIB = 1024 * 1024;

/** RPC takes 32 MiB a message; the rest is for what surrounds the content. */
export const MAX_MESSAGE_BYTES = 30 * MIB;
/** Limit of the thread for one value of a channel. */
export const MAX_VALUE_BYTES = 24 * MIB;

/** Error of a state that does not fit one message. */
export class StateLimitError extends Error {
  override name = "StateLimitError";
}

/** Error of an answer that does not fit one message. */
export class AnswerLimitError extends Error {
  override name = "AnswerLimitError";
}

/** Bytes of a text in a message: one character outside of Latin-1 makes all of them two bytes. */
export function messageBytes(text: string): number {
  if (text.length * 2 <= MAX_MESSAGE_BYTES / 8) return text.length;
  return isLatin1(text) ? text.length : text.length * 2;
}

function isLatin1(text: string): boolean {
  for (let at = 0; at < text.length; at++) if (text.charCodeAt(at) > 0xff) return false;
  return true;
}

export function describeBytes(bytes: number): string {
  return `${(bytes / MIB).toFixed(1)} MiB`;
}

/** @throws AnswerLimitError */
export function sendable(what: string, text: string): string {
  const bytes = messageBytes(text);
  if (bytes <= MAX_MESSAGE_BYTES) return text;
  throw new AnswerLimitError(
    `${what} has ${describeBytes(bytes)}, more than one answer of ${describeBytes(MAX_MESSAGE_BYTES)}. ` +
      "Store large values outside of the state.",
  );
}
