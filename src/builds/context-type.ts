import { declarationsOf, fieldsOf } from "./state-types.ts";
import { readType, type Schema } from "./type-reader.ts";
import { type Token, tokensOf } from "./type-tokens.ts";

const OPENS = ["(", "{", "["];
const CLOSES = [")", "}", "]"];

/**
 * JSON Schema of the context that `new StateGraph(state, Annotation.Root({...}))` of a file names, there or
 * by a constant of the same file: LangGraph keeps nothing of it. Null: none does, or two differ.
 */
export function contextType(source: string): Schema | null {
  const tokens = tokensOf(source);
  const declarations = declarationsOf([tokens]);
  const found = [...contextsOf(tokens)].map((fields) => ({
    $schema: "http://json-schema.org/draft-07/schema#",
    type: "object",
    properties: Object.fromEntries(
      [...fieldsOf(fields)].map(([name, at]) => [name, readType(fields, at, declarations)]),
    ),
  }));
  const [first, ...others] = found.map((schema) => JSON.stringify(schema));
  return first !== undefined && others.every((other) => other === first)
    ? (found[0] ?? null)
    : null;
}

/** The tokens of each annotation that a graph's second argument is. */
function* contextsOf(tokens: Token[]): Generator<Token[]> {
  for (const [at, { text }] of tokens.entries()) {
    if (text !== "StateGraph" || tokens[at + 1]?.text !== "(") continue;
    const second = argumentsAt(tokens, at + 1)[1];
    const root = second && rootAt(tokens, second);
    if (root === undefined || root === null) continue;
    yield [...bracketed(tokens, root)].map(({ token }) => token);
  }
}

/** Where each argument of the call begins whose `(` is at this place. */
function argumentsAt(tokens: Token[], open: number): number[] {
  const commas = [...bracketed(tokens, open)].filter(
    ({ token, depth }) => token.text === "," && depth === 1,
  );
  return [open, ...commas.map(({ at }) => at)].map((at) => at + 1);
}

/** Where the `(` of `Annotation.Root(` stands, written here or behind the constant that is named here. */
function rootAt(tokens: Token[], at: number): number | null {
  const text = (offset: number) => tokens[at + offset]?.text;
  if (text(0) === "Annotation" && text(2) === "Root" && text(3) === "(") return at + 3;
  const name = text(0);
  if (tokens[at]?.kind !== "name" || ![")", ","].includes(text(1) ?? "")) return null;
  const declared = tokens.findIndex(
    (token, n) =>
      token.text === "const" && tokens[n + 1]?.text === name && tokens[n + 2]?.text === "=",
  );
  return declared < 0 || declared + 3 >= at ? null : rootAt(tokens, declared + 3);
}

/** The tokens from an opening bracket to the one that closes it, each with the brackets that it stands in. */
function* bracketed(tokens: Token[], open: number) {
  let depth = 0;
  for (const [offset, token] of tokens.slice(open).entries()) {
    if (OPENS.includes(token.text)) depth += 1;
    if (CLOSES.includes(token.text)) depth -= 1;
    yield { at: open + offset, token, depth };
    if (depth === 0) return;
  }
}
