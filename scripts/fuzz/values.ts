import fc from "fast-check";
import { type Document, resolve, type Schema } from "./document.ts";

type Values = fc.Arbitrary<unknown>;

const MAX_DEPTH = 5;
const SAFE = 2 ** 31 - 1;

const NASTY = [
  "",
  " ",
  "%",
  "%00",
  "../..",
  "' or 1=1--",
  "\u0000",
  "\ud800x",
  "\u{1f642}".repeat(20),
  "<script>",
  "null",
  "NaN",
  "-1",
  "9".repeat(30),
  "__proto__",
  "1e999",
  "2026-13-45T99:99:99Z",
  "https://user:password@[::1]:99999/",
  "a".repeat(5000),
];

export const nasty = fc.constantFrom(...NASTY);
/** A value of an unexpected type. */
export const odd: Values = fc.oneof(nasty, fc.jsonValue({ maxDepth: 2 }));

/** Generates values that fit a schema of the document. */
export function valuesOf(document: Document, given: Schema, depth = 0): Values {
  const { example, ...rest } = resolve(document, given);
  if (example === undefined) return inventedOf(document, rest, depth);
  return fc.oneof(
    { weight: 2, arbitrary: fc.constant(example) },
    { weight: 1, arbitrary: inventedOf(document, rest, depth) },
  );
}

function inventedOf(document: Document, schema: Schema, depth: number): Values {
  if (depth > MAX_DEPTH) return fc.constant(null);
  if (schema.const !== undefined) return fc.constant(schema.const);
  if (schema.enum) return fc.constantFrom(...schema.enum);
  const next = (inner: Schema) => valuesOf(document, inner, depth + 1);
  const choices = schema.anyOf ?? schema.oneOf;
  if (choices) return fc.oneof(...choices.map(next));
  if (schema.allOf)
    return fc.tuple(...schema.allOf.map(next)).map((parts) => Object.assign({}, ...parts));
  return ofTypes(schema, next);
}

function ofTypes(schema: Schema, next: (inner: Schema) => Values): Values {
  const types = [schema.type ?? []].flat();
  if (types.length === 0) return fc.jsonValue({ maxDepth: 2 });
  return fc.oneof(...types.map((type) => ofType(type, schema, next)));
}

function ofType(type: string, schema: Schema, next: (inner: Schema) => Values): Values {
  switch (type) {
    case "null":
      return fc.constant(null);
    case "boolean":
      return fc.boolean();
    case "integer":
      return integers(schema);
    case "number":
      return fc.double({ min: schema.minimum ?? -1e9, max: schema.maximum ?? 1e9, noNaN: true });
    case "array":
      return arrays(schema, next);
    case "object":
      return objects(schema, next);
    default:
      return texts(schema);
  }
}

function integers({ minimum = -SAFE, maximum = SAFE }: Schema): Values {
  const [min, max] = [Math.max(minimum, -SAFE), Math.min(maximum, SAFE)];
  return fc.oneof(fc.constantFrom(min, max), fc.integer({ min, max }));
}

function arrays(
  { items = {}, minItems = 0, maxItems = 4 }: Schema,
  next: (inner: Schema) => Values,
) {
  return fc.array(next(items), {
    minLength: minItems,
    maxLength: Math.max(minItems, Math.min(maxItems, 4)),
  });
}

function objects(
  { properties = {}, required = [] }: Schema,
  next: (inner: Schema) => Values,
): Values {
  const names = Object.keys(properties);
  if (names.length === 0)
    return fc.dictionary(fc.string(), fc.jsonValue({ maxDepth: 1 }), { maxKeys: 3 });
  const fields = Object.fromEntries(
    Object.entries(properties).map(([name, inner]) => [name, next(inner)]),
  );
  return sparse(fields, required);
}

/** Leaves most optional fields out, because each further field can make the request refused. */
export function sparse(fields: Record<string, Values>, required: string[]): Values {
  const absent = { weight: 3, arbitrary: fc.constant(undefined) };
  const entries = Object.entries(fields).map(([name, values]) => [
    name,
    required.includes(name) ? values : fc.oneof(absent, { weight: 1, arbitrary: values }),
  ]);
  const given = fc.record(Object.fromEntries(entries)) as fc.Arbitrary<Record<string, unknown>>;
  return given.map((all) =>
    Object.fromEntries(Object.entries(all).filter(([, value]) => value !== undefined)),
  );
}

function texts({ format, pattern, minLength = 0, maxLength = 40 }: Schema): Values {
  if (format === "uuid") return fc.uuid();
  if (format === "date-time") return times();
  if (format === "uri") return fc.webUrl();
  if (pattern !== undefined) return fc.stringMatching(new RegExp(pattern));
  const most = Math.min(maxLength, 200);
  const fitting = NASTY.filter(({ length }) => length >= minLength && length <= maxLength);
  const plain = fc.string({ minLength, maxLength: most, unit: "grapheme-ascii" });
  const strange = fc.string({ minLength, maxLength: most, unit: "binary" });
  const words = fc.constantFrom("https://git.test/agent.git", "http://127.0.0.1:9/", "main", "a");
  const nasties = fitting.length === 0 ? strange : fc.oneof(strange, fc.constantFrom(...fitting));
  return fc.oneof(
    { weight: 3, arbitrary: plain },
    { weight: 2, arbitrary: words },
    { weight: 1, arbitrary: nasties },
  );
}

function times(): Values {
  const range = { noInvalidDate: true, min: new Date("2020-01-01"), max: new Date("2030-01-01") };
  return fc.date(range).map((date) => date.toISOString());
}
