type Schema = {
  $ref?: string;
  type?: string | string[];
  format?: string;
  enum?: unknown[];
  const?: unknown;
  default?: unknown;
  example?: unknown;
  minimum?: number;
  properties?: Record<string, Schema>;
  required?: string[];
  items?: Schema;
  anyOf?: Schema[];
  oneOf?: Schema[];
  allOf?: Schema[];
};
type Schemas = Record<string, Schema>;

const FORMATS: Record<string, string> = {
  uuid: "019a2b3c-4d5e-7f60-8a1b-2c3d4e5f6071",
  "date-time": "2026-11-20T12:00:00.000Z",
  uri: "https://example.com/",
  email: "ada@example.com",
};

type Media = { schema?: Schema; example?: unknown };
type Body = { content?: Record<string, Media>; $ref?: string };
type Contract = { requestBody?: Body; responses?: Record<string, Body> };

/** Adds examples to the request and the successful responses of an operation, where the route states none. */
export function addExamples({ requestBody, responses = {} }: Contract, schemas: Schemas): void {
  addTo(requestBody, (schema) => exampleOf(schema, { schemas, isComplete: false }));
  for (const [status, response] of Object.entries(responses)) {
    if (status >= "300") continue;
    addTo(response, (schema) => exampleOf(schema, { schemas, isComplete: true }));
  }
}

function addTo(body: Body | undefined, derive: (schema: Schema) => unknown): void {
  for (const media of Object.values(body?.content ?? {})) {
    if (media.schema && media.example === undefined) media.example = derive(media.schema);
  }
}

/** `isComplete`: an example of an object contains its optional properties too, not only those that state an example. */
type Context = { schemas: Schemas; isComplete: boolean };

/**
 * Derives an example from the examples, defaults, enums and formats of a schema.
 * @returns `undefined` for a string with nothing to derive from, and for an object or a list that requires such a string
 */
function exampleOf(schema: Schema, context: Context): unknown {
  if (schema.$ref) return exampleOf(resolve(schema.$ref, context), context);
  const stated = schema.example ?? schema.const ?? schema.default ?? schema.enum?.[0];
  if (stated !== undefined) return stated;
  if (schema.allOf) return exampleOfAll(schema.allOf, context);
  const options = schema.anyOf ?? schema.oneOf;
  if (!options) return exampleOfType(schema, context);
  return options.map((option) => exampleOf(option, context)).find((value) => value !== undefined);
}

function resolve($ref: string, { schemas }: Context): Schema {
  return schemas[$ref.split("/").at(-1) ?? ""] ?? {};
}

/** The parts of `allOf` are a reference, and what a property adds to it. */
function exampleOfAll(parts: Schema[], context: Context): unknown {
  const examples = parts.map((part) => exampleOf(part, context));
  return examples.every((example) => example instanceof Object && !Array.isArray(example))
    ? Object.assign({}, ...examples)
    : examples[0];
}

function exampleOfType(schema: Schema, context: Context): unknown {
  const types = [schema.type ?? []].flat();
  if (types.includes("string") && schema.format && schema.format in FORMATS) {
    return FORMATS[schema.format];
  }
  if (types.includes("null")) return null;
  switch (types[0]) {
    case "object":
      return exampleOfObject(schema, context);
    case "array":
      return exampleOfArray(schema, context);
    case "integer":
    case "number":
      return schema.minimum ?? 1;
    case "boolean":
      return true;
    case "string":
      return undefined;
    default:
      return {};
  }
}

function exampleOfObject({ properties = {}, required = [] }: Schema, context: Context): unknown {
  const example: Record<string, unknown> = {};
  for (const [name, property] of Object.entries(properties)) {
    const isRequired = required.includes(name);
    if (!isRequired && !context.isComplete && property.example === undefined) continue;
    const value = exampleOf(property, context);
    if (value !== undefined) example[name] = value;
    else if (isRequired) return undefined;
  }
  return example;
}

function exampleOfArray({ items }: Schema, context: Context): unknown {
  if (!items) return [];
  const example = exampleOf(items, context);
  return example === undefined ? undefined : [example];
}
