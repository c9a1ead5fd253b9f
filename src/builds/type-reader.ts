import type { Token } from "./type-tokens.ts";

export type Schema = Record<string, unknown>;
/** Where the type of a name begins; null: it has two. */
export type Declarations = Map<string, { tokens: Token[]; at: number } | null>;

const MAX_DEPTH = 12;
const ANYTHING: Schema = {};

const PRIMITIVES = new Map<string, Schema>([
  ["string", { type: "string" }],
  ["number", { type: "number" }],
  ["boolean", { type: "boolean" }],
  ["object", { type: "object" }],
  ["null", { type: "null" }],
  ["true", { const: true }],
  ["false", { const: false }],
]);

const MESSAGE: Schema = {
  type: "object",
  properties: { type: { type: "string" }, id: { type: "string" }, content: {} },
  required: ["content"],
};
const MESSAGES = ["BaseMessage", "AIMessage", "HumanMessage", "SystemMessage", "ToolMessage"];
const LISTS = ["Array", "ReadonlyArray", "Set"];

/** The type at a place as JSON Schema; what it cannot say is `{}`. */
export function readType(tokens: Token[], at: number, declarations: Declarations): Schema {
  try {
    return new TypeReader(tokens, at, declarations, 0).union();
  } catch (error) {
    if (error instanceof Unreadable) return ANYTHING;
    throw error;
  }
}

class Unreadable extends Error {}

class TypeReader {
  readonly #tokens: Token[];
  readonly #declarations: Declarations;
  #depth: number;
  #at: number;

  constructor(tokens: Token[], at: number, declarations: Declarations, depth: number) {
    this.#tokens = tokens;
    this.#at = at;
    this.#declarations = declarations;
    this.#depth = depth;
  }

  union(): Schema {
    if (++this.#depth > MAX_DEPTH) throw new Unreadable();
    const options = this.#options();
    this.#depth -= 1;
    // An intersection, a condition, a function: more than is read here.
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
    let item = this.#primary();
    while (this.#peek() === "[") {
      this.#take("[");
      this.#take("]");
      item = { type: "array", items: item };
    }
    return item;
  }

  #primary(): Schema {
    const token = this.#next();
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
    const place = this.#declarations.get(name);
    if (!place) return ANYTHING;
    const { tokens, at } = place;
    return new TypeReader(tokens, at, this.#declarations, this.#depth).union();
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
      if (kind === "sign") throw new Unreadable();
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

function toUnion(options: Schema[]): Schema {
  const [first, ...rest] = options;
  if (!first) return ANYTHING;
  if (rest.length === 0) return first;
  if (options.some((option) => Object.keys(option).length === 0)) return ANYTHING;
  if (options.every((option) => "const" in option)) {
    const values = options.map((option) => option.const);
    const types = new Set(values.map((value) => typeof value));
    if (types.size === 1) values.sort();
    return { ...(types.size === 1 && { type: [...types][0] }), enum: values };
  }
  return { anyOf: options };
}
