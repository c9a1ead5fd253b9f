import { type ParseError, parse, visit } from "jsonc-parser";

/** Parses JSON, and finds the position of the first mistake: V8's own message has none for short texts. */

type JsonMistake = { line: number; column: number; text: string };
type JsonResult = { ok: true; value: unknown } | { ok: false; mistake: JsonMistake };

const KEY = "a key in double quotes";
const TOO_DEEP: JsonMistake = { line: 1, column: 1, text: "it is nested too deep" };

export function parseJson(source: string): JsonResult {
  const text = source.charCodeAt(0) === 0xfeff ? source.slice(1) : source;
  try {
    return { ok: true, value: JSON.parse(text) };
  } catch {
    return { ok: false, mistake: findMistake(text) ?? TOO_DEEP };
  }
}

/** Parses JSON with comments and trailing commas, as in tsconfig.json. @returns `undefined` for other texts */
export function parseJsonc(source: string): unknown {
  const errors: ParseError[] = [];
  const value: unknown = unlessTooDeep(() => parse(source, errors, { allowTrailingComma: true }));
  return errors.length === 0 ? value : undefined;
}

/** The parser recurses: deep nesting overflows the stack. @returns `undefined` after an overflow */
function unlessTooDeep<T>(read: () => T): T | undefined {
  try {
    return read();
  } catch {
    return undefined;
  }
}

function findMistake(text: string): JsonMistake | null {
  const open: string[] = [];
  let expected = "a value";
  let first: JsonMistake | null = null;
  const fail = (offset: number, _length: number, line: number, column: number) => {
    const found = offset >= text.length ? "the end of the file" : `"${text[offset]}"`;
    const message = `expected ${expected}, found ${found}`;
    first ??= { line: line + 1, column: column + 1, text: message };
  };
  const begin = (closing: string, content: string) => () => {
    open.push(closing);
    expected = content;
  };
  const afterValue = () => {
    const closing = open.at(-1);
    expected = closing === undefined ? "the end of the file" : `"," or "${closing}"`;
  };
  const end = (offset: number, ...position: [number, number, number]) => {
    if (text[offset] !== open.pop()) fail(offset, ...position);
    afterValue();
  };
  const visitor = {
    onObjectBegin: begin("}", KEY),
    onArrayBegin: begin("]", "a value"),
    onObjectEnd: end,
    onArrayEnd: end,
    onLiteralValue: afterValue,
    onObjectProperty: () => {
      expected = '":"';
    },
    onSeparator: (sign: string) => {
      expected = sign === "," && open.at(-1) === "}" ? KEY : "a value";
    },
    onError: (_code: number, ...position: [number, number, number, number]) => fail(...position),
  };
  unlessTooDeep(() => visit(text, visitor, { disallowComments: true }));
  return first;
}
