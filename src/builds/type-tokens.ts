export type Token = { kind: "name" | "string" | "number" | "sign"; text: string };

const SKIPPED = String.raw`\s+|\/\/[^\n]*|\/\*[^]*?\*\/`;
const STRING = String.raw`"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'`;
const TOKEN = new RegExp(
  `(?<skipped>${SKIPPED})|(?<string>${STRING})|(?<number>-?\\d+(?:\\.\\d+)?)|(?<name>[\\p{L}_$][\\p{L}\\p{N}_$]*)|(?<sign>=>|[^])`,
  "gu",
);

/** The tokens of TypeScript as far as types need them. */
export function tokensOf(source: string): Token[] {
  const tokens: Token[] = [];
  for (const { groups = {} } of source.matchAll(TOKEN)) {
    const { string, number, name, sign } = groups;
    if (string !== undefined) tokens.push({ kind: "string", text: string });
    else if (number !== undefined) tokens.push({ kind: "number", text: number });
    else if (name !== undefined) tokens.push({ kind: "name", text: name });
    else if (sign !== undefined) tokens.push({ kind: "sign", text: sign });
  }
  return tokens;
}
