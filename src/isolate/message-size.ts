import type { TraceOp } from "./trace-contract.ts";

const MIB = 1024 * 1024;

/** RPC accepts messages of up to 32 MiB. The other 2 MiB are room for fields beside the content. */
export const MAX_MESSAGE_BYTES = 30 * MIB;
/** Limit of the thread for one value of a channel. */
export const MAX_VALUE_BYTES = 24 * MIB;

/**
 * Limit of all values of a checkpoint at Cloudflare, which gives an isolate 128 MB. A run holds a state several times:
 * its bytes, its objects, and texts for events and for the summary.
 */
export const MAX_STATE_BYTES = 10 * MIB;

/** Error of a state, a step or an event that does not fit one message, or the memory of an isolate. */
export class StateLimitError extends Error {
  override name = "StateLimitError";
}

/** Error of an answer that does not fit one message. */
export class AnswerLimitError extends Error {
  override name = "AnswerLimitError";
}

/** V8 tests a text that it stores with one byte a character at almost no cost: such a text cannot match. */
const NOT_LATIN1 = /[\u0100-\uffff]/;

/** Returns the bytes of a text in a message: with one character outside of Latin-1, each character takes two. */
export function messageBytes(text: string): number {
  return NOT_LATIN1.test(text) ? text.length * 2 : text.length;
}

/** Size of the value of a channel. */
export type ChannelSize = { channel: string; bytes: number };

export function totalOf(sizes: readonly ChannelSize[]): number {
  return sizes.reduce((sum, { bytes }) => sum + bytes, 0);
}

/**
 * Checks the size of a state before it is stored. A state above the limit may be replaced by one that is not larger.
 * @throws StateLimitError
 */
export function assertStateSize(
  sizes: readonly ChannelSize[],
  bytesBefore: number,
  max_bytes = MAX_STATE_BYTES,
): void {
  const total = totalOf(sizes);
  if (total <= max_bytes || total <= bytesBefore) return;
  const [largest] = sizes.toSorted((one, other) => other.bytes - one.bytes);
  throw new StateLimitError(
    `The state has ${total} bytes, more than ${max_bytes} (${describeBytes(max_bytes)}), ` +
      `of which channel "${largest?.channel}" has ${largest?.bytes}. Remove values or messages from it, or store large values outside of the state.`,
  );
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

/** Returns the number of characters of an encoded trace run, as it is sent. */
export function charactersOf({ data, texts = {} }: Pick<TraceOp, "data" | "texts">): number {
  const sizes = Object.values(texts).map((text) =>
    "text" in text ? text.text.length : text.before.length + text.rest.length,
  );
  return sizes.reduce((sum, size) => sum + size, data.length);
}

/** Returns the number of characters of an encoded trace run, with the text that it shares with others. */
export function payloadCharactersOf(sent: Pick<TraceOp, "data" | "texts">): number {
  const shared = Object.values(sent.texts ?? {}).map((text) => ("of" in text ? text.chars : 0));
  return shared.reduce((sum, chars) => sum + chars, charactersOf(sent));
}
