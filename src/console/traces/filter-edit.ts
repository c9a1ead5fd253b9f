import { FUNCTIONS, tokensOf } from "./language.ts";

/** A filter as it is meant: bare words are searched for, unless they begin the name of a function. */
export function meantFilter(text: string): string {
  const words = text.trim();
  const isBare = words !== "" && !/[()[\]"',]/.test(words);
  const isBegun = Object.keys(FUNCTIONS).some((name) => name.startsWith(words.toLowerCase()));
  return isBare && !isBegun ? `search(${JSON.stringify(words)})` : words;
}

/** Adds a condition to a filter, into its `and(...)` where it has one. */
export function addCondition(filter: string, condition: string): string {
  const text = filter.trim();
  if (text === "") return condition;
  if (text.includes(condition)) return text;
  return /^and\(.*\)$/s.test(text) && isOneCall(text)
    ? `${text.slice(0, -1)}, ${condition})`
    : `and(${text}, ${condition})`;
}

/** Whether the first parenthesis closes at the end of the text. */
function isOneCall(text: string): boolean {
  let level = 0;
  const tokens = tokensOf(text);
  for (const [index, { text: token }] of tokens.entries()) {
    if (token === "(") level += 1;
    if (token === ")") level -= 1;
    if (token === ")" && level === 0) return index === tokens.length - 1;
  }
  return false;
}
