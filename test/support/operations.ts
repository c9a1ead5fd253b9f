import {
  type Document,
  type Operation,
  operationsOf,
  resolve,
  type Schema,
} from "../../scripts/fuzz/document.ts";
import { api } from "./workspace.ts";

const document: Document = await (await api("/openapi.json")).json();

/** Every operation of the API's own document: a new one is tested by being there. */
export const operations = operationsOf(document);

export function jsonOf({ body, raw_type }: Operation): Schema | undefined {
  return raw_type === undefined ? body : undefined;
}

/** The least of that. */
export function sampleBodyOf(operation: Operation): unknown {
  const schema = jsonOf(operation);
  return schema && sampleOf(schema);
}

/** The least that a schema takes. */
function sampleOf(schema: Schema): unknown {
  const { $ref, const: constant, enum: values, default: standard } = schema;
  if ($ref !== undefined) return sampleOf(resolve(document, schema));
  if (constant !== undefined) return constant;
  if (values !== undefined) return values[0];
  if (standard !== undefined) return standard;
  const [choice] = schema.anyOf ?? schema.oneOf ?? [];
  if (choice !== undefined) return sampleOf(choice);
  if (schema.allOf) return Object.assign({}, ...schema.allOf.map(sampleOf));
  return sampleOfType(schema);
}

function sampleOfType(schema: Schema): unknown {
  switch (Array.isArray(schema.type) ? schema.type[0] : schema.type) {
    case "object":
      return Object.fromEntries(
        (schema.required ?? []).map((name) => [name, sampleOf(schema.properties?.[name] ?? {})]),
      );
    case "array":
      return schema.minItems ? [sampleOf(schema.items ?? {})] : [];
    case "integer":
    case "number":
      return schema.minimum ?? 1;
    case "boolean":
      return true;
    default:
      return sampleOfText(schema);
  }
}

function sampleOfText({ format, maxLength }: Schema): string {
  if (format === "uuid") return crypto.randomUUID();
  if (format === "date-time") return "2026-01-01T00:00:00Z";
  return "sample".slice(0, maxLength);
}
