import { textOf } from "../packages/project.ts";
import { ownPaths, type Tree } from "../tree.ts";
import { TypeBudget } from "./type-budget.ts";
import { type Declarations, readType } from "./type-reader.ts";
import type { Schema } from "./type-schema.ts";
import { type Token, tokenize } from "./type-tokens.ts";

/** JSON Schemas of a state's fields, by name. */
export type StateTypes = Record<string, Schema>;

/**
 * Reads `name: Annotation<T>` fields of TypeScript sources: bundling drops their types. A name with two
 * different types gets what both have in common. Leaves out types with intersections, conditions, functions, or
 * generics other than arrays, sets and records.
 */
export function stateTypes(sources: Iterable<string>, budget = new TypeBudget()): StateTypes {
  const files: Token[][] = [];
  for (const source of sources) {
    files.push(tokenize(source, budget));
    if (budget.isExceeded) break;
  }
  const declarations = declarationsOf(files);
  const found = new Map<string, Schema>();
  for (const tokens of files) {
    for (const [name, schema] of readFields(tokens, declarations, budget)) {
      const earlier = found.get(name);
      found.set(name, earlier ? inCommon(earlier, schema) : schema);
    }
  }
  return Object.fromEntries([...found].filter(([, schema]) => Object.keys(schema).length > 0));
}

/** Yields the text of each file once, not for each alias: a type that is declared twice is treated as unknown. */
export function* typeScriptOf(tree: Tree): Generator<string> {
  for (const path of ownPaths(tree)) {
    if (/\.[cm]?tsx?$/.test(path) && !path.includes("node_modules/"))
      yield textOf(tree, path) ?? "";
  }
}

/** Returns the schema that both types of a name satisfy. */
function inCommon(one: Schema, other: Schema): Schema {
  if (JSON.stringify(one) === JSON.stringify(other)) return one;
  return one.type !== undefined && one.type === other.type ? { type: one.type } : {};
}

/** Yields the schema of each field until the budget ends. */
export function* readFields(
  tokens: Token[],
  declarations: Declarations,
  budget: TypeBudget,
): Generator<[name: string, schema: Schema]> {
  for (const [name, at] of fieldsOf(tokens)) {
    if (!budget.spend("nodes", 1) || !budget.spend("text", name.length)) return;
    yield [name, readType(tokens, at, declarations, budget)];
  }
}

/** Yields the position of each field's type. */
function* fieldsOf(tokens: Token[]): Generator<[name: string, at: number]> {
  for (let at = 0; at + 4 < tokens.length; at++) {
    const [name, colon, annotation, open] = tokens.slice(at, at + 4);
    if (colon?.text !== ":" || annotation?.text !== "Annotation" || open?.text !== "<") continue;
    if (name?.kind === "name") yield [name.text, at + 4];
    else if (name?.kind === "string") yield [name.text.slice(1, -1), at + 4];
  }
}

/** Returns interfaces and type aliases without parameters. A name that is declared twice has `null`. */
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

/** Returns the start of the type that is declared at a token, or `null`. */
function declaredAt(tokens: Token[], index: number): number | null {
  const [word, name, next] = tokens.slice(index, index + 3);
  if (name?.kind !== "name") return null;
  if (word?.text === "type" && next?.text === "=") return index + 3;
  return word?.text === "interface" && next?.text === "{" ? index + 2 : null;
}
