import type { Op } from "../../../../isolate/contract.ts";
import type { DiffText, TraceOp, TraceText } from "../../../../isolate/trace-contract.ts";
import { MAX_PAYLOAD_CHARACTERS, MAX_PAYLOADS_CHARACTERS } from "./limits.ts";
import { mapTexts } from "./trace-texts.ts";

/** Replaces a payload over a limit. It shares no characters with another text: ids begin with 0, and `chars` is 0. */
const OMITTED: DiffText = {
  of: -1,
  before: JSON.stringify({
    heddle_omitted: `Payloads of a trace run have at most ${MAX_PAYLOAD_CHARACTERS} characters, and ${MAX_PAYLOADS_CHARACTERS} in one batch.`,
  }),
  from: 0,
  chars: 0,
  rest: "",
};

/** Characters that the operation itself holds. */
export function sizeOfTrace({ data, texts = {} }: TraceOp): number {
  return textsOf(texts).reduce((sum, text) => sum + ownSizeOf(text), data.length);
}

/** Characters that its payloads take from those of other operations: delivery reads them too. */
export function sharedSizeOf({ texts = {} }: TraceOp): number {
  return textsOf(texts).reduce((sum, text) => sum + ("of" in text ? text.chars : 0), 0);
}

/**
 * Limits payloads by their whole size: a difference of a few characters may repeat megabytes. A payload over the limit
 * is replaced by a note, like a difference to a text that the batch does not have. An operation whose `data` is over
 * the limit is left out. The agent's run continues without an error.
 */
export function limitPayloads(ops: Op[]): Op[] {
  const budget = new PayloadBudget();
  return ops.flatMap((op): Op[] => {
    if (op.op !== "trace") return [op];
    if (op.data.length > MAX_PAYLOAD_CHARACTERS) return [];
    return op.texts ? [{ ...op, texts: mapTexts(op.texts, (text) => budget.limit(text)) }] : [op];
  });
}

class PayloadBudget {
  /** Characters of the texts of the batch so far, by id. */
  readonly #sizes = new Map<number, number>();
  #left = MAX_PAYLOADS_CHARACTERS;

  limit(text: TraceText): TraceText {
    const valid = "id" in text ? text : this.#clamp(text);
    if (valid === null) return OMITTED;
    const size = wholeSizeOf(valid);
    if (size > MAX_PAYLOAD_CHARACTERS || size > this.#left) return OMITTED;
    this.#left -= size;
    if ("id" in valid) this.#sizes.set(valid.id, size);
    return valid;
  }

  /** Limits the shared part to the text that it is from. @returns `null` when the batch has no text of that id */
  #clamp(text: DiffText): DiffText | null {
    const size = this.#sizes.get(text.of);
    if (size === undefined) return null;
    const from = Math.min(text.from, size);
    return { ...text, from, chars: Math.min(text.chars, size - from) };
  }
}

/** Characters of the text once a difference is expanded. */
function wholeSizeOf(text: TraceText): number {
  return ownSizeOf(text) + ("of" in text ? text.chars : 0);
}

function ownSizeOf(text: TraceText): number {
  return "text" in text ? text.text.length : text.before.length + text.rest.length;
}

function textsOf(texts: NonNullable<TraceOp["texts"]>): TraceText[] {
  return Object.values(texts).filter((text) => text !== undefined);
}
