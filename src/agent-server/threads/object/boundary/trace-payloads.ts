import type { Op } from "../../../../isolate/contract.ts";
import type { TraceOp, TraceText } from "../../../../isolate/trace-contract.ts";
import { MAX_PAYLOAD_CHARACTERS, MAX_PAYLOADS_CHARACTERS } from "./limits.ts";
import { mapTexts } from "./trace-texts.ts";

type SharedText = Exclude<TraceText, { id: number }>;

const OMITTED: SharedText = {
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

/** Characters that its payloads share with others: delivery reads them too. */
export function sharedSizeOf({ texts = {} }: TraceOp): number {
  return textsOf(texts).reduce((sum, text) => sum + ("of" in text ? text.chars : 0), 0);
}

/**
 * A few characters may name megabytes of another payload. Payloads over the limit are replaced by a note and
 * longer runs are left out, and the run continues: a trace never fails its run.
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
  readonly #wholes = new Map<number, number>();
  #left = MAX_PAYLOADS_CHARACTERS;

  limit(text: TraceText): TraceText {
    const kept = "id" in text ? text : this.#clamp(text);
    const size = kept ? sizeOfText(kept) : Number.POSITIVE_INFINITY;
    if (!kept || size > MAX_PAYLOAD_CHARACTERS || size > this.#left) return OMITTED;
    this.#left -= size;
    if ("id" in kept) this.#wholes.set(kept.id, size);
    return kept;
  }

  /** @returns `null` when the batch has no text of that id */
  #clamp(text: SharedText): SharedText | null {
    const whole = this.#wholes.get(text.of);
    if (whole === undefined) return null;
    const from = Math.min(text.from, whole);
    return { ...text, from, chars: Math.min(text.chars, whole - from) };
  }
}

function sizeOfText(text: TraceText): number {
  return ownSizeOf(text) + ("of" in text ? text.chars : 0);
}

function ownSizeOf(text: TraceText): number {
  return "text" in text ? text.text.length : text.before.length + text.rest.length;
}

function textsOf(texts: NonNullable<TraceOp["texts"]>): TraceText[] {
  return Object.values(texts).filter((text) => text !== undefined);
}
