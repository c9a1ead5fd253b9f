/** Error in a filter; `readFilter` turns it into a result. */
export class FilterProblem extends Error {
  constructor(offset: number, text: string) {
    super(`At character ${offset + 1}: ${text}`);
    this.name = "FilterProblem";
  }
}

export type FilterToken = {
  kind: "mark" | "text" | "number" | "word" | "end";
  /** Source text. A quoted text is without its quotes, and its escapes are resolved. */
  text: string;
  offset: number;
};

const BLANKS = /\s*/y;
const MARK = /[()[\],]/y;
const TEXT = /"(?:[^"\\]|\\[\s\S])*"|'(?:[^'\\]|\\[\s\S])*'/y;
const NUMBER = /-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/y;
const WORD = /[A-Za-z_][\w.]*/y;

const KINDS = [
  ["mark", MARK],
  ["text", TEXT],
  ["number", NUMBER],
  ["word", WORD],
] as const;

const ESCAPE = /\\(?:u([0-9a-fA-F]{4})|([\s\S]))/g;
const ESCAPED: Record<string, string> = { b: "\b", f: "\f", n: "\n", r: "\r", t: "\t" };

export function tokenize(filter: string): FilterToken[] {
  const tokens: FilterToken[] = [];
  let offset = skipBlanks(filter, 0);
  while (offset < filter.length) {
    const { token, end } = readToken(filter, offset);
    tokens.push(token);
    offset = skipBlanks(filter, end);
  }
  tokens.push({ kind: "end", text: "", offset });
  return tokens;
}

function readToken(filter: string, offset: number): { token: FilterToken; end: number } {
  for (const [kind, pattern] of KINDS) {
    const found = matchAt(pattern, filter, offset);
    if (found === null) continue;
    const text = kind === "text" ? unquote(found) : found;
    return { token: { kind, text, offset }, end: offset + found.length };
  }
  const character = String.fromCodePoint(filter.codePointAt(offset) ?? 0);
  if (character === '"' || character === "'") {
    throw new FilterProblem(offset, `the string lacks its closing ${character}`);
  }
  throw new FilterProblem(
    offset,
    `${character} is unexpected; write texts in quotes and lists in [ ]`,
  );
}

function skipBlanks(filter: string, offset: number): number {
  return offset + (matchAt(BLANKS, filter, offset) ?? "").length;
}

function matchAt(pattern: RegExp, filter: string, offset: number): string | null {
  pattern.lastIndex = offset;
  return pattern.exec(filter)?.[0] ?? null;
}

/** Resolves the escapes of JSON and \'. Keeps other backslashes, as in the pattern '100\%'. */
function unquote(quoted: string): string {
  return quoted.slice(1, -1).replace(ESCAPE, (whole, hex?: string, character = "") => {
    if (hex !== undefined) return String.fromCharCode(Number.parseInt(hex, 16));
    if (`\\"'/`.includes(character)) return character;
    return ESCAPED[character] ?? whole;
  });
}
