/** A large value of a JSON text. `path`: the keys that lead to it. `start` and `end`: its indexes in the text. */
export type LargeValue = { path: string; start: number; end: number };

/** Levels of objects that are searched. A deeper object is one value. */
const MAX_DEPTH = 5;
const STRUCTURE = /["[\]{}]/g;
const LEVELS: Record<string, number> = { "[": 1, "{": 1, "]": -1, "}": -1 };
const SPACE = /\s*/y;
/** `true`, `null`, a number. */
const PLAIN = /[^\s,[\]{}"]+/y;

class NotJson extends Error {}

/**
 * Finds the values of at least `min` characters in a JSON object, in order. Of an object with large fields it finds
 * these fields. It does not search lists. The whole text is not one of the values. Does not validate the text: returns
 * none when it cannot follow its structure.
 */
export function largeValues(text: string, min: number): LargeValue[] {
  try {
    return new Search(text, min).found();
  } catch (error) {
    if (error instanceof NotJson) return [];
    throw error;
  }
}

class Search {
  readonly #text: string;
  readonly #min: number;
  readonly #found: LargeValue[] = [];

  constructor(text: string, min: number) {
    this.#text = text;
    this.#min = min;
  }

  found(): LargeValue[] {
    this.#scan(0, "", 0);
    return this.#found;
  }

  /** Scans the value that begins at `start`, and adds it or its large fields to the result. @returns its end */
  #scan(start: number, path: string, depth: number): number {
    const before = this.#found.length;
    const isOpened = this.#text[start] === "{" && depth < MAX_DEPTH;
    const end = isOpened ? this.#scanFields(start, path, depth) : valueEnd(this.#text, start);
    const isLarge = end - start >= this.#min && this.#found.length === before;
    if (isLarge && depth > 0) this.#found.push({ path, start, end });
    return end;
  }

  #scanFields(start: number, path: string, depth: number): number {
    let at = skipSpace(this.#text, start + 1);
    if (this.#text[at] === "}") return at + 1;
    for (;;) {
      const keyEnd = stringEnd(this.#text, at);
      const key = `${path}/${this.#text.slice(at, keyEnd)}`;
      const value = skipSpace(this.#text, this.#after(":", keyEnd));
      const end = skipSpace(this.#text, this.#scan(value, key, depth + 1));
      if (this.#text[end] === "}") return end + 1;
      at = skipSpace(this.#text, this.#after(",", end));
    }
  }

  #after(mark: string, place: number): number {
    const at = skipSpace(this.#text, place);
    if (this.#text[at] !== mark) throw new NotJson();
    return at + 1;
  }
}

function valueEnd(text: string, start: number): number {
  const first = text[start];
  if (first === '"') return stringEnd(text, start);
  if (first === "[" || first === "{") return containerEnd(text, start);
  PLAIN.lastIndex = start;
  if (!PLAIN.test(text)) throw new NotJson();
  return PLAIN.lastIndex;
}

function containerEnd(text: string, start: number): number {
  let depth = 0;
  let at = start;
  do {
    STRUCTURE.lastIndex = at;
    const match = STRUCTURE.exec(text);
    if (match === null) throw new NotJson();
    const [mark] = match;
    at = mark === '"' ? stringEnd(text, match.index) : match.index + 1;
    depth += LEVELS[mark] ?? 0;
  } while (depth > 0);
  return at;
}

function stringEnd(text: string, start: number): number {
  if (text[start] !== '"') throw new NotJson();
  let end = text.indexOf('"', start + 1);
  while (end !== -1 && isEscaped(text, end)) end = text.indexOf('"', end + 1);
  if (end === -1) throw new NotJson();
  return end + 1;
}

function isEscaped(text: string, at: number): boolean {
  let first = at;
  while (text[first - 1] === "\\") first -= 1;
  return (at - first) % 2 === 1;
}

function skipSpace(text: string, at: number): number {
  SPACE.lastIndex = at;
  SPACE.test(text);
  return SPACE.lastIndex;
}
