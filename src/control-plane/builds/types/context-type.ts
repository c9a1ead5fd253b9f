import { declarationsOf, readFields } from "./state-types.ts";
import { TYPE_LIMITS, TypeBudget } from "./type-budget.ts";
import type { Schema } from "./type-schema.ts";
import { type Token, tokenize } from "./type-tokens.ts";

const OPENS = ["(", "{", "["];
const CLOSES = [")", "}", "]"];
/** Constants between a graph's second argument and its `Annotation.Root(`. */
const MAX_CONSTANTS = 8;

/**
 * Reads the context of `new StateGraph(state, Annotation.Root({...}))` as JSON Schema. The annotation may be
 * a constant of the same file. LangGraph itself does not keep the context's types.
 * @returns `null` when no graph has a context, or two graphs have different ones.
 */
export function contextType(source: string, budget = new TypeBudget()): Schema | null {
  const tokens = tokenize(source, budget);
  const declarations = declarationsOf([tokens]);
  const found = [...contextsOf(tokens, budget)].map((fields) => ({
    $schema: "http://json-schema.org/draft-07/schema#",
    type: "object",
    properties: Object.fromEntries(readFields(fields, declarations, budget)),
  }));
  const [first, ...others] = found.map((schema) => JSON.stringify(schema));
  return first !== undefined && others.every((other) => other === first)
    ? (found[0] ?? null)
    : null;
}

/** Yields the tokens of each annotation that is a graph's second argument. */
function* contextsOf(tokens: Token[], budget: TypeBudget): Generator<Token[]> {
  let graphs = 0;
  for (const [at, { text }] of tokens.entries()) {
    if (text !== "StateGraph" || tokens[at + 1]?.text !== "(") continue;
    // Calls may nest, and each is read up to its closing bracket.
    if (++graphs > TYPE_LIMITS.graphs_per_file) return void budget.exceed();
    const second = secondArgument(tokens, at + 1);
    const root = second === null ? null : rootAt(tokens, second);
    if (root !== null) yield [...bracketed(tokens, root)].map(({ token }) => token);
  }
}

/** Returns the position of the second argument of the call whose `(` is at `open`. */
function secondArgument(tokens: Token[], open: number): number | null {
  for (const { at, token, depth } of bracketed(tokens, open)) {
    if (token.text === "," && depth === 1) return at + 1;
  }
  return null;
}

/** Returns the position of the `(` of `Annotation.Root(`, followed through constants. */
function rootAt(tokens: Token[], start: number): number | null {
  let at: number | null = start;
  for (let constants = 0; at !== null && constants <= MAX_CONSTANTS; constants++) {
    if (isRoot(tokens, at)) return at + 3;
    at = constantAt(tokens, at);
  }
  return null;
}

function isRoot(tokens: Token[], at: number): boolean {
  const texts = tokens.slice(at, at + 4).map(({ text }) => text);
  return texts[0] === "Annotation" && texts[2] === "Root" && texts[3] === "(";
}

/** Returns the position of the value of the constant that an argument names; it is declared before its use. */
function constantAt(tokens: Token[], at: number): number | null {
  const [name, after] = tokens.slice(at, at + 2);
  if (name?.kind !== "name" || ![")", ","].includes(after?.text ?? "")) return null;
  const declared = tokens.findIndex(
    ({ text }, n) =>
      text === "const" && tokens[n + 1]?.text === name.text && tokens[n + 2]?.text === "=",
  );
  return declared < 0 || declared + 3 >= at ? null : declared + 3;
}

/** Yields the tokens from an opening bracket to the one that closes it, each with its bracket depth. */
function* bracketed(tokens: Token[], open: number) {
  let depth = 0;
  for (let at = open; at < tokens.length; at++) {
    const token = tokens[at] as Token;
    if (OPENS.includes(token.text)) depth += 1;
    if (CLOSES.includes(token.text)) depth -= 1;
    yield { at, token, depth };
    if (depth === 0) return;
  }
}
