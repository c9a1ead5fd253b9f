import type { TraceText } from "../trace-contract.ts";
import type { Pieces } from "./trace-json.ts";

/** Minimum shared length: shorter texts are not worth a reference. */
const MIN_SHARED_CHARACTERS = 4096;
/** Maximum length of the text that is not shared. With more of it, the text is sent whole. */
const MAX_OWN_CHARACTERS = 64 * 1024;
/** Maximum number of items before the shared ones: models receive a few prompts before the conversation. */
const MAX_BEFORE = 3;

type SentText = Pieces & { id: number };

/**
 * Deduplicates long texts within a batch: nodes of a conversation receive nearly the same texts.
 */
export class TextDeduplicator {
  #count = 0;
  #sent: SentText[] = [];

  /** Starts a new batch: references never cross batches. */
  endBatch() {
    this.#sent = [];
  }

  encode(pieces: Pieces): TraceText {
    for (const sent of this.#sent) {
      const shared = sharedWith(sent, pieces);
      if (shared) return shared;
    }
    const id = this.#count++;
    this.#sent.push({ ...pieces, id });
    return { id, text: pieces.texts.join("") };
  }
}

function sharedWith(sent: SentText, { texts, first, length }: Pieces): TraceText | null {
  if (sent.first < 0 || first < 0) return null;
  const head = sent.texts[sent.first];
  // Each item has two pieces: itself and its separator.
  const at = Array.from({ length: MAX_BEFORE + 1 }, (_, n) => first + 2 * n).find(
    (index) => texts[index] === head,
  );
  if (at === undefined) return null;
  let count = 0;
  let chars = 0;
  for (let text = head; text !== undefined && text === texts[at + count]; ) {
    chars += text.length;
    count += 1;
    text = sent.texts[sent.first + count];
  }
  if (chars < MIN_SHARED_CHARACTERS || length - chars > MAX_OWN_CHARACTERS) return null;
  const [before, rest] = [texts.slice(0, at).join(""), texts.slice(at + count).join("")];
  return { of: sent.id, before, from: lengthOf(sent.texts, sent.first), chars, rest };
}

function lengthOf(texts: string[], count: number): number {
  let length = 0;
  for (let n = 0; n < count; n++) length += texts[n]?.length ?? 0;
  return length;
}
