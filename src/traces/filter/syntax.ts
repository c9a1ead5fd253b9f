import { FilterProblem, type FilterToken, tokenize } from "./tokens.ts";

/** Bounds the recursion of the parser, the checks and the evaluation. */
const MAX_FILTER_LEVELS = 64;

export type FilterCall = { kind: "call"; name: string; args: FilterNode[]; offset: number };

/** Syntax tree before functions and fields are resolved. */
export type FilterNode =
  | FilterCall
  | { kind: "word"; text: string; offset: number }
  | { kind: "text"; text: string; offset: number }
  | { kind: "number"; text: string; offset: number }
  | { kind: "list"; items: FilterNode[]; offset: number };

type Reader = { tokens: FilterToken[]; next: number; end: FilterToken };

export function parseSyntax(filter: string): FilterNode {
  const tokens = tokenize(filter);
  const end = tokens.at(-1) ?? { kind: "end", text: "", offset: 0 };
  const reader = { tokens, next: 0, end };
  const node = parseNode(reader, 1, 'a function such as eq(name, "x")');
  const rest = take(reader);
  if (rest.kind === "end") return node;
  throw new FilterProblem(
    rest.offset,
    `expected the end of the filter, found ${describe(rest)}; combine conditions with and(...)`,
  );
}

function parseNode(reader: Reader, level: number, expected: string): FilterNode {
  const token = take(reader);
  const { kind, text, offset } = token;
  if (kind === "text" || kind === "number") return { kind, text, offset };
  if (kind === "word") {
    if (peek(reader).text !== "(" || peek(reader).kind !== "mark") return { kind, text, offset };
    take(reader);
    assertLevel(level, offset);
    return { kind: "call", name: text, args: parseSeries(reader, level + 1, ")"), offset };
  }
  if (text === "[") {
    assertLevel(level, offset);
    return { kind: "list", items: parseSeries(reader, level + 1, "]"), offset };
  }
  throw new FilterProblem(offset, `expected ${expected}, found ${describe(token)}`);
}

function assertLevel(level: number, offset: number): void {
  if (level <= MAX_FILTER_LEVELS) return;
  throw new FilterProblem(
    offset,
    `the filter must be nested at most ${MAX_FILTER_LEVELS} levels deep; and(...) and or(...) take any number of arguments`,
  );
}

/** Parses one or more nodes, separated by commas, up to the closing mark. */
function parseSeries(reader: Reader, level: number, close: ")" | "]"): FilterNode[] {
  const nodes: FilterNode[] = [];
  for (;;) {
    nodes.push(parseNode(reader, level, close === ")" ? "an argument" : "a value"));
    const token = take(reader);
    if (token.kind === "mark" && token.text === close) return nodes;
    if (token.kind !== "mark" || token.text !== ",") {
      throw new FilterProblem(token.offset, `expected , or ${close}, found ${describe(token)}`);
    }
  }
}

function peek(reader: Reader): FilterToken {
  return reader.tokens[reader.next] ?? reader.end;
}

function take(reader: Reader): FilterToken {
  const token = peek(reader);
  reader.next += 1;
  return token;
}

function describe({ kind, text }: FilterToken): string {
  if (kind === "end") return "the end of the filter";
  return kind === "text" ? `the string ${JSON.stringify(text.slice(0, 40))}` : text.slice(0, 40);
}
