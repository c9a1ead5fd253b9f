import { type Fields, isFields, toJson } from "../../ui/conversation/fields.ts";

type FieldKind = "text" | "number" | "integer" | "boolean" | "choice" | "json";

/** A field of a graph's input. */
export type InputField = {
  name: string;
  kind: FieldKind;
  choices: string[];
  isRequired: boolean;
  description: string | null;
  initial: string;
};

const MAX_FIELDS = 50;

/**
 * @returns the first `MAX_FIELDS` fields of an object's schema, empty when the schema is unknown or has no properties
 */
export function inputFields(schema: unknown): InputField[] {
  const root = resolve(schema, schema);
  if (!isFields(root) || !isFields(root.properties)) return [];
  const required = Array.isArray(root.required) ? root.required : [];
  return Object.entries(root.properties)
    .slice(0, MAX_FIELDS)
    .map(([name, property]) => {
      const resolved = resolve(property, schema);
      const fields = isFields(resolved) ? resolved : {};
      return toField(name, fields, required.includes(name));
    });
}

export function isChatSchema(schema: unknown): boolean {
  return inputFields(schema).some(({ name }) => name === "messages");
}

function toField(name: string, fields: Fields, isRequired: boolean): InputField {
  const { description, enum: choices } = fields;
  const initial = "default" in fields ? fields.default : undefined;
  const isChoice = Array.isArray(choices) && choices.every((each) => typeof each === "string");
  const kind = isChoice ? "choice" : kindOf(fields.type);
  return {
    name,
    kind,
    choices: isChoice ? (choices as string[]) : [],
    isRequired,
    description: typeof description === "string" ? description : null,
    initial: initial === undefined ? "" : textFor(kind, initial),
  };
}

const KINDS: Record<string, FieldKind> = {
  string: "text",
  number: "number",
  integer: "integer",
  boolean: "boolean",
};

function kindOf(type: unknown): FieldKind {
  return KINDS[String(type)] ?? "json";
}

function textFor(kind: FieldKind, value: unknown): string {
  return typeof value === "string" && kind !== "json" ? value : toJson(value, 2);
}

/** Longest chain of `$ref`: a schema may refer to itself. */
const MAX_REFERENCES = 5;

function resolve(schema: unknown, root: unknown): unknown {
  let current = schema;
  for (let step = 0; step < MAX_REFERENCES; step += 1) {
    const reference = isFields(current) ? current.$ref : undefined;
    if (typeof reference !== "string" || !reference.startsWith("#/")) return current;
    current = reference
      .slice(2)
      .split("/")
      .reduce<unknown>((at, key) => (isFields(at) ? at[key] : undefined), root);
  }
  return current;
}

/** Reads the typed texts. Omits empty fields. `problems` has the reasons of refusals by field. */
export function readInput(fields: InputField[], texts: Record<string, string>) {
  const input: Fields = {};
  const problems: Record<string, string> = {};
  for (const field of fields) {
    const text = texts[field.name] ?? field.initial;
    const { value, problem } = readField(field, text);
    if (problem !== null) problems[field.name] = problem;
    else if (value !== undefined) input[field.name] = value;
  }
  return { input, problems };
}

function readField({ kind, isRequired }: InputField, text: string) {
  if (text.trim() === "") return { value: undefined, problem: isRequired ? "is required" : null };
  if (kind === "text" || kind === "choice") return { value: text, problem: null };
  try {
    const value: unknown = JSON.parse(text);
    return { value, problem: isOfKind(value, kind) ? null : PROBLEMS[kind] };
  } catch {
    return { value: undefined, problem: PROBLEMS[kind] };
  }
}

const PROBLEMS = {
  number: "must be a number",
  integer: "must be a whole number",
  boolean: "must be true or false",
  json: "is not JSON",
};

function isOfKind(value: unknown, kind: keyof typeof PROBLEMS): boolean {
  if (kind === "integer") return Number.isInteger(value);
  return kind === "json" || typeof value === kind;
}
