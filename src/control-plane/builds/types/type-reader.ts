import { TYPE_LIMITS, type TypeBudget } from "./type-budget.ts";
import { ANYTHING, MESSAGE, MESSAGES, PRIMITIVES, type Schema, toUnion } from "./type-schema.ts";
import type { Token } from "./type-tokens.ts";

/** Start of the declared type of each name. `null` for a name with two declarations. */
export type Declarations = Map<string, { tokens: Token[]; at: number } | null>;
const LISTS = ["Array", "ReadonlyArray", "Set"];

/** Reads the type at a position as JSON Schema; `{}` for a type that is not supported, or over a limit. */
export function readType(
  tokens: Token[],
  at: number,
  declarations: Declarations,
  budget: TypeBudget,
): Schema {
  try {
    const shared = { declarations, budget, nodes: 0 };
    return new TypeReader(tokens, at, 0, shared).union();
  } catch (error) {
    if (error instanceof Unreadable) return ANYTHING;
    throw error;
  }
}

class Unreadable extends Error {}

/** State of one `readType` call. All readers of the call share it: one for the type, one for each use of a name. */
type SharedState = { declarations: Declarations; budget: TypeBudget; nodes: number };

class TypeReader {
  readonly #tokens: Token[];
  readonly #shared: SharedState;
  #depth: number;
  #at: number;

  constructor(tokens: Token[], at: number, depth: number, shared: SharedState) {
    this.#tokens = tokens;
    this.#at = at;
    this.#depth = depth;
    this.#shared = shared;
  }

  union(): Schema {
    this.#enter();
    const options = this.#options();
    this.#depth -= 1;
    // Intersections, conditional types and function types are not supported.
    if (["&", "extends", "=>"].includes(this.#peek())) throw new Unreadable();
    return toUnion(options);
  }

  #options(): Schema[] {
    this.#skip("|");
    const options: Schema[] = [];
    do {
      const isAbsent = this.#peek() === "undefined";
      const option = this.#list();
      if (!isAbsent) options.push(option);
    } while (this.#skip("|"));
    return options;
  }

  #list(): Schema {
    this.#skip("readonly");
    const depth = this.#depth;
    let item = this.#primary();
    while (this.#skip("[")) {
      this.#take("]");
      this.#enter();
      item = { type: "array", items: item };
    }
    this.#depth = depth;
    return item;
  }

  #enter() {
    if (++this.#depth > TYPE_LIMITS.depth) throw new Unreadable();
  }

  /** Counts a node of the schema. A declaration counts again at each use, because the schema repeats it. */
  #count(text: string) {
    const { budget } = this.#shared;
    const isWithin = budget.spend("nodes", 1) && budget.spend("text", text.length);
    if (!isWithin || ++this.#shared.nodes > TYPE_LIMITS.nodes_per_type) {
      budget.exceed();
      throw new Unreadable();
    }
  }

  #primary(): Schema {
    const token = this.#next();
    this.#count(token.text);
    if (token.kind === "string") return { const: token.text.slice(1, -1) };
    if (token.kind === "number") return { const: Number(token.text) };
    if (token.kind === "name") return this.#named(token.text);
    if (token.text === "{") return this.#object();
    if (token.text !== "(") throw new Unreadable();
    const inner = this.union();
    this.#take(")");
    return inner;
  }

  #named(name: string): Schema {
    if (name === "Record") return this.#record();
    if (LISTS.includes(name)) return { type: "array", items: this.#argument() };
    if (["<", "."].includes(this.#peek())) throw new Unreadable();
    if (MESSAGES.includes(name)) return MESSAGE;
    return PRIMITIVES.get(name) ?? this.#declared(name);
  }

  #declared(name: string): Schema {
    const declared = this.#shared.declarations.get(name);
    if (!declared) return ANYTHING;
    return new TypeReader(declared.tokens, declared.at, this.#depth, this.#shared).union();
  }

  #argument(): Schema {
    this.#take("<");
    const argument = this.union();
    this.#take(">");
    return argument;
  }

  #record(): Schema {
    this.#take("<");
    this.union();
    this.#take(",");
    const additionalProperties = this.union();
    this.#take(">");
    return { type: "object", additionalProperties };
  }

  #object(): Schema {
    const properties: Record<string, Schema> = {};
    const required: string[] = [];
    while (!this.#skip("}")) {
      this.#skip("readonly");
      const { kind, text } = this.#next();
      if (kind === "punctuation") throw new Unreadable();
      this.#count(text);
      const name = kind === "string" ? text.slice(1, -1) : text;
      if (!this.#skip("?")) required.push(name);
      this.#take(":");
      properties[name] = this.union();
      if (!this.#skip(";")) this.#skip(",");
    }
    return { type: "object", properties, ...(required.length > 0 && { required }) };
  }

  #peek(): string {
    return this.#tokens[this.#at]?.text ?? "";
  }

  #next(): Token {
    const token = this.#tokens[this.#at++];
    if (!token) throw new Unreadable();
    return token;
  }

  #skip(text: string): boolean {
    const isThere = this.#peek() === text;
    if (isThere) this.#at += 1;
    return isThere;
  }

  #take(text: string) {
    if (!this.#skip(text)) throw new Unreadable();
  }
}
