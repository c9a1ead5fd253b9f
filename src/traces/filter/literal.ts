import type { FilterNode } from "./syntax.ts";
import { FilterProblem } from "./tokens.ts";
import type { Literal } from "./values.ts";

const WORDS: Record<string, Literal> = { true: true, false: false, null: null };

export function toLiteral(node: FilterNode): Literal {
  if (node.kind === "text") return node.text;
  if (node.kind === "number") return toNumber(node.text, node.offset);
  if (node.kind === "word") {
    const literal = Object.hasOwn(WORDS, node.text) ? WORDS[node.text] : undefined;
    if (literal !== undefined) return literal;
    throw new FilterProblem(
      node.offset,
      `expected a value, found ${node.text}; write texts in quotes: ${JSON.stringify(node.text)}`,
    );
  }
  throw new FilterProblem(node.offset, `expected one value, found ${describe(node)}`);
}

export function readString(node: FilterNode, taker: string): string {
  const literal = toLiteral(node);
  if (typeof literal === "string") return literal;
  throw new FilterProblem(node.offset, `${taker} takes a string in quotes, not ${describe(node)}`);
}

export function describe(node: FilterNode): string {
  switch (node.kind) {
    case "call":
      return `the function ${node.name.slice(0, 40)}(...)`;
    case "list":
      return "a list";
    case "text":
      return JSON.stringify(node.text.slice(0, 40));
    case "number":
    case "word":
      return node.text.slice(0, 40);
  }
}

function toNumber(text: string, offset: number): number {
  const value = Number(text);
  if (Number.isFinite(value)) return value;
  throw new FilterProblem(offset, `${text.slice(0, 40)} is out of range`);
}
