import { FIELDS, FUNCTIONS, tokensOf } from "./language.ts";

export type FilterError = {
  /** Counted from 0; `null` when the service names no position. */
  offset: number | null;
  /** Position after the wrong word. */
  end: number;
  text: string;
  /** A known name close to the wrong one. */
  fix: string | null;
};

/** Reads the service's message, such as `At character 27: latncy is not a field; use id, ...`. */
export function readError(message: string, filter: string): FilterError {
  const [, place, words = message] = /^At character (\d+): (.*)$/s.exec(message) ?? [];
  if (place === undefined) return { offset: null, end: 0, text: message, fix: null };
  const offset = Number(place) - 1;
  const wrong = tokensOf(filter.slice(offset))[0]?.text ?? "";
  const isName = /is not a (field|function)/.test(words);
  const names = Object.keys(/is not a function/.test(words) ? FUNCTIONS : FIELDS);
  return {
    offset,
    end: offset + Math.max(wrong.length, 1),
    text: isName ? (words.split(";")[0] ?? words) : words,
    fix: isName ? closest(wrong, names) : null,
  };
}

const MAX_DISTANCE = 3;

function closest(word: string, names: string[]): string | null {
  const near = names
    .map((name) => ({ name, distance: distanceOf(word.toLowerCase(), name) }))
    .filter(({ distance }) => distance <= MAX_DISTANCE)
    .sort((a, b) => a.distance - b.distance);
  return near[0]?.name ?? null;
}

/** Number of edits between two short words. */
function distanceOf(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (const [i, letter] of [...a.slice(0, 40)].entries()) {
    const next = [i + 1];
    for (let j = 0; j < b.length; j += 1) {
      const swap = (row[j] ?? 0) + (letter === b[j] ? 0 : 1);
      next.push(Math.min(swap, (row[j + 1] ?? 0) + 1, (next[j] ?? 0) + 1));
    }
    row = next;
  }
  return row[b.length] ?? 0;
}
