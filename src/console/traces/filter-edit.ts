import { FUNCTIONS, tokensOf } from "./language.ts";

const LEVELS = new Map([
  ["(", 1],
  ["[", 1],
  [")", -1],
  ["]", -1],
]);

/** Turns bare words into a search, unless they are the beginning of a function's name. Keeps any other filter. */
export function meantFilter(text: string): string {
  const words = text.trim();
  const isBare = words !== "" && !/[()[\]"',]/.test(words);
  const isFunctionPrefix = Object.keys(FUNCTIONS).some((name) =>
    name.startsWith(words.toLowerCase()),
  );
  return isBare && !isFunctionPrefix ? `search(${JSON.stringify(words)})` : words;
}

/** Adds a condition to a filter, into its `and(...)` where it has one. */
export function addCondition(filter: string, condition: string): string {
  const text = filter.trim();
  if (text === "") return condition;
  if (hasCondition(text, condition)) return text;
  return isConjunction(text) ? `${text.slice(0, -1)}, ${condition})` : `and(${text}, ${condition})`;
}

/** Whether all runs that match a filter meet a condition. One in `not(...)` or `or(...)` does not count. */
export function hasCondition(filter: string, condition: string): boolean {
  if (filter === condition) return true;
  return isConjunction(filter) && operandsOf(filter).some((each) => hasCondition(each, condition));
}

function isConjunction(text: string): boolean {
  return /^and\(.*\)$/s.test(text) && isOneCall(text);
}

/** Returns the arguments of one call. */
function operandsOf(text: string): string[] {
  const operands: string[] = [];
  let level = 0;
  let from = text.indexOf("(") + 1;
  for (const { text: token, at } of tokensOf(text)) {
    level += LEVELS.get(token) ?? 0;
    const isEnd = level === 0 ? token === ")" : level === 1 && token === ",";
    if (!isEnd) continue;
    operands.push(text.slice(from, at).trim());
    from = at + 1;
  }
  return operands;
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
