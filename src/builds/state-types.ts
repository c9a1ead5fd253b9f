import { type Declarations, readType, type Schema } from "./type-reader.ts";
import { type Token, tokensOf } from "./type-tokens.ts";

/** JSON Schemas of a state's fields, by name. */
export type StateTypes = Record<string, Schema>;

/** More than any agent has; a build is not held up by what only describes it. */
const MAX_CHARACTERS = 1024 * 1024;

/**
 * What `name: Annotation<T>` says of fields in TypeScript sources: their types are gone once they are
 * bundled. Of a name with two different types it says what they have in common, and nothing of a type that
 * is written in other files' generics, conditions or functions.
 */
export function stateTypes(sources: Iterable<string>): StateTypes {
  const files = [...upTo(sources)].map(tokensOf);
  const declarations = declarationsOf(files);
  const found = new Map<string, Schema>();
  for (const tokens of files) {
    for (const [name, at] of fieldsOf(tokens)) {
      const schema = readType(tokens, at, declarations);
      const known = found.get(name);
      found.set(name, known ? inCommon(known, schema) : schema);
    }
  }
  return Object.fromEntries([...found].filter(([, schema]) => Object.keys(schema).length > 0));
}

/** What holds whichever of two types a name has. */
function inCommon(one: Schema, other: Schema): Schema {
  if (JSON.stringify(one) === JSON.stringify(other)) return one;
  return one.type !== undefined && one.type === other.type ? { type: one.type } : {};
}

function* upTo(sources: Iterable<string>) {
  let characters = 0;
  for (const text of sources) {
    characters += text.length;
    if (characters > MAX_CHARACTERS) return;
    yield text;
  }
}

/** Where the type of each field begins. */
export function* fieldsOf(tokens: Token[]): Generator<[name: string, at: number]> {
  for (let at = 0; at + 4 < tokens.length; at++) {
    const [name, colon, annotation, open] = tokens.slice(at, at + 4);
    if (colon?.text !== ":" || annotation?.text !== "Annotation" || open?.text !== "<") continue;
    if (name?.kind === "name") yield [name.text, at + 4];
    else if (name?.kind === "string") yield [name.text.slice(1, -1), at + 4];
  }
}

/** Interfaces and aliases without parameters; a name that is declared twice is not known. */
export function declarationsOf(files: Token[][]): Declarations {
  const found: Declarations = new Map();
  for (const tokens of files) {
    for (const [index, { text }] of tokens.entries()) {
      const at = declaredAt(tokens, index);
      if (at === null) continue;
      const name = tokens[index + 1]?.text ?? text;
      found.set(name, found.has(name) ? null : { tokens, at });
    }
  }
  return found;
}

/** Where the type begins that is declared at a token; null: none is. */
function declaredAt(tokens: Token[], index: number): number | null {
  const [word, name, next] = tokens.slice(index, index + 3);
  if (name?.kind !== "name") return null;
  if (word?.text === "type" && next?.text === "=") return index + 3;
  return word?.text === "interface" && next?.text === "{" ? index + 2 : null;
}
