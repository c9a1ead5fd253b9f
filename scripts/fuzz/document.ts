export type Schema = {
  $ref?: string;
  const?: unknown;
  default?: unknown;
  enum?: unknown[];
  example?: unknown;
  type?: string | string[];
  format?: string;
  pattern?: string;
  properties?: Record<string, Schema>;
  required?: string[];
  items?: Schema;
  anyOf?: Schema[];
  oneOf?: Schema[];
  allOf?: Schema[];
  minimum?: number;
  maximum?: number;
  minLength?: number;
  maxLength?: number;
  minItems?: number;
  maxItems?: number;
};

const FORM = "application/x-www-form-urlencoded";

type Media = { content?: Record<string, { schema?: Schema }> };
export type Parameter = { name: string; in: string; required?: boolean; schema: Schema };
export type Operation = {
  id: string;
  method: string;
  path: string;
  is_public: boolean;
  parameters: Parameter[];
  body: Schema | undefined;
  /** Content type of a body that is not JSON. */
  raw_type: string | undefined;
  responses: Record<string, Media>;
};

type Contract = {
  operationId: string;
  security?: unknown[];
  parameters?: Parameter[];
  requestBody?: Media;
  responses: Record<string, Media>;
};
export type Document = {
  paths: Record<string, Record<string, Contract>>;
  components: { schemas: Record<string, Schema> };
};

export function operationsOf({ paths }: Document): Operation[] {
  return Object.entries(paths).flatMap(([path, item]) =>
    Object.entries(item).map(([method, contract]) => {
      const content = contract.requestBody?.content ?? {};
      const types = Object.keys(content);
      return {
        id: contract.operationId,
        method: method.toUpperCase(),
        path,
        is_public: contract.security?.length === 0,
        parameters: contract.parameters ?? [],
        body: (content["application/json"] ?? content[FORM])?.schema,
        raw_type: types.includes("application/json") ? undefined : types[0],
        responses: contract.responses,
      };
    }),
  );
}

export function resolve(document: Document, schema: Schema): Schema {
  const name = schema.$ref?.split("/").at(-1);
  if (name === undefined) return schema;
  return resolve(document, document.components.schemas[name] ?? {});
}
