import { api } from "./workspace.ts";

export type Json = Record<string, unknown>;
export type Schema = Json & {
  $ref?: string;
  type?: string | string[];
  properties?: Record<string, Schema>;
  required?: string[];
  items?: Schema;
  anyOf?: Schema[];
  oneOf?: Schema[];
  allOf?: Schema[];
};
export type Parameter = { name: string; in: string; required?: boolean; schema: Schema };
export type Operation = {
  id: string;
  method: string;
  path: string;
  is_public: boolean;
  parameters: Parameter[];
  /** Of a JSON body, where there is one. */
  body: Schema | null;
  /** Whether it reads a body of any kind. */
  reads_body: boolean;
  statuses: string[];
};
type Contract = {
  operationId: string;
  security?: unknown[];
  parameters?: Parameter[];
  requestBody?: { content: Record<string, { schema: Schema }> };
  responses: Json;
};
type Document = { paths: Record<string, Record<string, Contract>>; components: Json };

const document: Document = await (await api("/openapi.json")).json();

/** Every operation of the API's own document: a new one is tested by being there. */
export const operations: Operation[] = Object.entries(document.paths).flatMap(([path, item]) =>
  Object.entries(item).map(([method, contract]) => ({
    id: contract.operationId,
    method: method.toUpperCase(),
    path,
    is_public: contract.security?.length === 0,
    parameters: contract.parameters ?? [],
    body: contract.requestBody?.content["application/json"]?.schema ?? null,
    reads_body: contract.requestBody !== undefined,
    statuses: Object.keys(contract.responses),
  })),
);

/** The least that a schema takes. */
export function sampleOf(schema: Schema): unknown {
  const { const: constant, enum: values, default: standard } = schema;
  if (schema.$ref !== undefined) return sampleOf(resolve(schema.$ref));
  if (constant !== undefined) return constant;
  if (Array.isArray(values)) return values[0];
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
  return "sample".slice(0, typeof maxLength === "number" ? maxLength : undefined);
}

function resolve(ref: string): Schema {
  const keys = ref.slice(2).split("/");
  return keys.reduce((node, key) => node[key] as Json, document as unknown as Json) as Schema;
}
