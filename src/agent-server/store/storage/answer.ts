import { messageBytes } from "../../../isolate/message-size.ts";
import type { StoredItem } from "../../../isolate/store-contract.ts";
import type { FoundItem } from "./items.ts";
import { MAX_ANSWER_BYTES, OVERHEAD_BYTES } from "./limits.ts";

type MessagePart = Pick<StoredItem, "namespace" | "key" | "value"> | string[];

/**
 * The answer has more bytes than `max_bytes`. `bytes`: its size, or the count so far once it exceeds
 * `MAX_ANSWER_BYTES`.
 */
export class AnswerTooLarge extends Error {
  readonly bytes: number;

  constructor(bytes: number) {
    super(`The answer has ${bytes} bytes.`);
    this.bytes = bytes;
  }
}

/** Counts the bytes of an answer in an RPC message. */
export class AnswerRoom {
  readonly #maxBytes: number;
  #bytes = 0;

  constructor(max_bytes: number) {
    this.#maxBytes = max_bytes;
  }

  /**
   * Counts a part. Callers drop the parts that do not fit, and count the others too: the error of `end` has the whole
   * size.
   * @returns whether the answer with this part fits
   * @throws AnswerTooLarge above `MAX_ANSWER_BYTES`
   */
  take(part: MessagePart): boolean {
    this.#bytes += bytesInMessage(part);
    if (this.#bytes > MAX_ANSWER_BYTES) throw new AnswerTooLarge(this.#bytes);
    return this.#bytes <= this.#maxBytes;
  }

  /** @throws AnswerTooLarge */
  end(): void {
    if (this.#bytes > this.#maxBytes) throw new AnswerTooLarge(this.#bytes);
  }
}

/** Returns the bytes of an item or a namespace in a message. */
export function bytesInMessage(part: MessagePart): number {
  if (Array.isArray(part)) return nameBytes(part) + OVERHEAD_BYTES;
  return messageBytes(part.value) + nameBytes([...part.namespace, part.key]) + OVERHEAD_BYTES;
}

/** Counts two bytes a character: names are short. */
function nameBytes(names: readonly string[]): number {
  return names.reduce((sum, { length }) => sum + 2 * (length + 1), 0);
}

export function withoutId({ id: _, ...item }: FoundItem): StoredItem {
  return item;
}
