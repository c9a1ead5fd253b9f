import type { TypeBudget } from "./type-budget.ts";

export type Token = { kind: "name" | "string" | "number" | "punctuation"; text: string };
type Groups = Record<string, string | undefined>;

// Each alternative accepts an unterminated string or comment: a match that fails at the end of the source
// would be tried again from every later quote, in quadratic time.
const TOKEN =
  /(?<skipped>\s+|\/\/[^\n]*|\/\*[\s\S]*?(?:\*\/|$))|(?<string>"(?:[^"\\\n]|\\[\s\S])*"?|'(?:[^'\\\n]|\\[\s\S])*'?)|(?<number>-?\d+(?:\.\d+)?)|(?<name>[\p{L}_$][\p{L}\p{N}_$]*)|(?<punctuation>=>|[\s\S])/gu;

/** Tokenizes TypeScript as far as types need it; stops where the budget ends. */
export function tokenize(source: string, budget: TypeBudget): Token[] {
  const tokens: Token[] = [];
  if (!budget.spend("source", source.length)) return tokens;
  for (const { groups = {} } of source.matchAll(TOKEN)) {
    const token = toToken(groups);
    if (token === null) continue;
    if (!budget.spend("tokens", 1)) break;
    tokens.push(token);
  }
  return tokens;
}

/** @returns `null` for white space and comments */
function toToken({ string, number, name, punctuation }: Groups): Token | null {
  if (string !== undefined) return { kind: "string", text: string };
  if (number !== undefined) return { kind: "number", text: number };
  if (name !== undefined) return { kind: "name", text: name };
  return punctuation === undefined ? null : { kind: "punctuation", text: punctuation };
}
