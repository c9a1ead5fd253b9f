/** JSON with the place of its first mistake; the engine's own message names none for short texts. */

type JsonMistake = { line: number; column: number; text: string };
type JsonResult = { ok: true; value: unknown } | { ok: false; mistake: JsonMistake };

const TOKEN =
  /[{}[\]:,]|"(?:[^"\\\p{Cc}]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*"|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null/uy;

export function parseJson(source: string): JsonResult {
  const text = source.charCodeAt(0) === 0xfeff ? source.slice(1) : source;
  try {
    return { ok: true, value: JSON.parse(text) };
  } catch {
    return { ok: false, mistake: findMistake(text) };
  }
}

/** Comments and trailing commas, as tsconfig.json may have them. */
export function parseJsonc(source: string): JsonResult {
  // Strings and comments may be unterminated here: a match that failed at the end of the text would be
  // tried again from every later quote, in quadratic time.
  const plain = source
    .replace(/("(?:[^"\\]|\\[\s\S])*"?)|\/\/[^\n]*|\/\*[\s\S]*?(?:\*\/|$)/g, "$1")
    .replace(/("(?:[^"\\]|\\[\s\S])*"?)|,(?=\s*[}\]])/g, "$1");
  return parseJson(plain);
}

function findMistake(text: string): JsonMistake {
  const open: string[] = [];
  let expects: Expects = "value";
  let offset = 0;
  let previous = "";
  for (;;) {
    offset += /^\s*/.exec(text.slice(offset))?.[0].length ?? 0;
    TOKEN.lastIndex = offset;
    const token = TOKEN.exec(text)?.[0];
    if (token === undefined || !isAllowed(token, expects, open, previous)) break;
    expects = next(token, expects, open);
    previous = token;
    offset += token.length;
  }
  return toMistake(text, offset, expects, open);
}

type Expects = "value" | "key" | "colon" | "comma";

function isAllowed(token: string, expects: Expects, open: string[], previous: string): boolean {
  const top = open.at(-1);
  if (expects === "colon") return token === ":";
  if (expects === "comma") return top !== undefined && (token === "," || token === closing(top));
  if (expects === "key") return token.startsWith('"') || (token === "}" && previous === "{");
  if (token === "]") return top === "[" && previous === "[";
  return !":,}".includes(token);
}

function next(token: string, expects: Expects, open: string[]): Expects {
  if ("{[".includes(token)) open.push(token);
  if ("}]".includes(token)) open.pop();
  if (token === ",") return open.at(-1) === "{" ? "key" : "value";
  if (expects === "key" && token.startsWith('"')) return "colon";
  return AFTER[token] ?? "comma";
}

const AFTER: Record<string, Expects> = { "{": "key", "[": "value", ":": "value" };

function closing(bracket: string): string {
  return bracket === "{" ? "}" : "]";
}

function toMistake(text: string, offset: number, expects: Expects, open: string[]): JsonMistake {
  const before = text.slice(0, offset);
  const line = before.split("\n").length;
  const column = offset - before.lastIndexOf("\n");
  const found = offset >= text.length ? "the end of the file" : `"${text[offset]}"`;
  return { line, column, text: `expected ${wanted(expects, open.at(-1))}, found ${found}` };
}

function wanted(expects: Expects, top: string | undefined): string {
  if (expects === "value") return "a value";
  if (expects === "key") return "a key in double quotes";
  if (expects === "colon") return '":"';
  return top === undefined ? "the end of the file" : `"," or "${closing(top)}"`;
}
