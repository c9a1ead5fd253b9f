import type { TraceOp, TraceText } from "./contract.ts";
import type { Pieces } from "./trace-json.ts";

/** Saying where less of a text is found would be as long as the text. */
const MIN_SHARED_CHARACTERS = 4096;
/** More than this beside it: the text is told whole. */
const MAX_OWN_CHARACTERS = 64 * 1024;
/** A model is given a prompt or two before the conversation. */
const MAX_BEFORE = 3;

type Told = Pieces & { id: number };

/** Long texts, batch after batch: nodes of a conversation are given nearly the same, which is told once. */
export class SaidTexts {
  #count = 0;
  #told: Told[] = [];

  /** What follows may go another way. */
  endBatch() {
    this.#told = [];
  }

  tell(pieces: Pieces): TraceText {
    for (const told of this.#told) {
      const shared = sharedWith(told, pieces);
      if (shared) return shared;
    }
    const id = this.#count++;
    this.#told.push({ ...pieces, id });
    return { id, text: pieces.texts.join("") };
  }
}

/** What it takes to tell it. */
export function charactersOf({ data, texts = {} }: Pick<TraceOp, "data" | "texts">): number {
  const sizes = Object.values(texts).map((text) =>
    "text" in text ? text.text.length : text.before.length + text.rest.length,
  );
  return sizes.reduce((sum, size) => sum + size, data.length);
}

/** Characters of the payloads, with the text that they share with others. */
export function payloadCharactersOf(told: Pick<TraceOp, "data" | "texts">): number {
  const shared = Object.values(told.texts ?? {}).map((text) => ("of" in text ? text.chars : 0));
  return shared.reduce((sum, chars) => sum + chars, charactersOf(told));
}

function sharedWith(told: Told, { texts, first, length }: Pieces): TraceText | null {
  if (told.first < 0 || first < 0) return null;
  const head = told.texts[told.first];
  // Two pieces an item: itself, and what stands between.
  const at = Array.from({ length: MAX_BEFORE + 1 }, (_, n) => first + 2 * n).find(
    (index) => texts[index] === head,
  );
  if (at === undefined) return null;
  let count = 0;
  let chars = 0;
  for (let text = head; text !== undefined && text === texts[at + count]; ) {
    chars += text.length;
    count += 1;
    text = told.texts[told.first + count];
  }
  if (chars < MIN_SHARED_CHARACTERS || length - chars > MAX_OWN_CHARACTERS) return null;
  const [before, rest] = [texts.slice(0, at).join(""), texts.slice(at + count).join("")];
  return { of: told.id, before, from: lengthOf(told.texts, told.first), chars, rest };
}

function lengthOf(texts: string[], count: number): number {
  let length = 0;
  for (let n = 0; n < count; n++) length += texts[n]?.length ?? 0;
  return length;
}
