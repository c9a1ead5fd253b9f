import { type ParseError, parse, visit } from "jsonc-parser";

type JsonMistake = { line: number; column: number; text: string };
type JsonResult = { ok: true; value: unknown } | { ok: false; mistake: JsonMistake };

const KEY = "a key in double quotes";
/** Mistakes within a text or a number, by the code of `ParseErrorCode`. */
const WITHIN: Record<number, string> = {
  12: "the text in quotes does not end in its line",
  13: "the number ends without a digit",
  14: "\\u needs four hexadecimal digits after it",
  15: "the text in quotes has an invalid escape: write a backslash as \\\\",
  16: "the text in quotes has a control character: write it as an escape, such as \\t",
};
const TOO_DEEP: JsonMistake = { line: 1, column: 1, text: "it is nested too deep" };

/** Parses JSON, and finds the position of the first mistake: not all messages of V8 have one. */
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
  const add = (message: string, line: number, column: number) => {
    first ??= { line: line + 1, column: column + 1, text: message };
  };
  const fail = (offset: number, _length: number, line: number, column: number) => {
    const found = offset >= text.length ? "the end of the file" : `"${text[offset]}"`;
    add(`expected ${expected}, found ${found}`, line, column);
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
    onError: (code: number, ...position: [number, number, number, number]) => {
      const mistake = WITHIN[code];
      if (mistake === undefined) fail(...position);
      else add(mistake, position[2], position[3]);
    },
  };
  unlessTooDeep(() => visit(text, visitor, { disallowComments: true }));
  return first;
}
