import { createRoute, type RouteConfig, z } from "@hono/zod-openapi";

/** Returns the schema of an object, with its name in the OpenAPI document. */
export function namedObject<T extends z.core.$ZodLooseShape>(name: string, shape: T) {
  return z.object(shape).openapi(name);
}

export function textField(description: string, example: string) {
  return z.string().openapi({ description, example });
}

const ValidationError = namedObject("ValidationError", {
  loc: z.array(z.union([z.string(), z.number().int()])).openapi({
    description: "Path of the field: where it is sent, then its keys",
    example: ["body", "name"],
  }),
  msg: textField("The rule that the field breaks", "must have at least 1 character"),
  type: textField("Code of the rule", "string_too_short"),
});

export const HTTPValidationError = namedObject("HTTPValidationError", {
  detail: z.array(ValidationError).describe("Invalid fields"),
});

export const ErrorDetail = namedObject("ErrorDetail", {
  detail: textField(
    "What is wrong and how to correct it",
    "Deployment ID 019a2b3c-4d5e-7f60-8a1b-2c3d4e5f6071 not found.",
  ),
});

/** The error format of version 2 of the traces API (RFC 7807). */
export const Problem = namedObject("Problem", {
  type: textField("URI of the problem type (RFC 7807)", "about:blank"),
  title: textField("Code of the error", "not found"),
  status: z.number().int().openapi({ description: "HTTP status", example: 404 }),
  detail: textField(
    "What is wrong and how to correct it",
    "Run ID 019a2b3c-4d5e-7f60-8a1b-2c3d4e5f6071 not found.",
  ),
  instance: textField("Path of the request", "/api/v2/runs/query"),
  remedy: z.string().nullable().describe("Always `null`"),
});

/** JSON object with any fields. */
export const AnyObject = z.record(z.string(), z.unknown());

/** Reads `?wait=false` as false, which coercion would not. The SDK writes booleans as 1 and 0 too. */
export const QueryBoolean = z
  .stringbool({
    truthy: ["true", "1", "yes"],
    falsy: ["false", "0", "no"],
    error: "must be true or false",
  })
  .openapi({ type: "boolean" });

/** Accepts 0 and 1 too: Python clients may send them, because pydantic takes them for booleans. */
export const LaxBoolean = z
  .union([z.boolean(), z.literal([0, 1]).transform((bit) => bit === 1)], {
    error: "must be true or false",
  })
  .openapi({ type: "boolean" });

/** Read in either case, kept and compared in lower case. */
export const Uuid = z.uuid().toLowerCase();
/** The same for ids that clients choose, which may have no version of a UUID, such as those of OpenTelemetry. */
export const AnyUuid = z.guid("must be a UUID").toLowerCase();
/** Sets no `type`: with it, the OpenAPI document would not show which times may be null. */
export const Timestamp = z.string().openapi({ format: "date-time" });

export const CreatedAt = Timestamp.describe("Time of creation");
export const UpdatedAt = Timestamp.describe("Time of the latest change");

export const HttpUrl = z
  .string()
  .max(2048)
  .refine(isHttpUrl, "must be an http:// or https:// URL without a user name or password")
  .openapi({ format: "uri" });

/** Returns the schema of the page size in a query. */
export function queryLimit(items: string, max: number, standard: number) {
  const limit = z.coerce.number().int().min(1).max(max).default(standard);
  return limit.describe(pageOf(items));
}

/** Returns the schema of the page size in a body. */
export function bodyLimit(items: string, max: number, standard: number) {
  return z.number().int().min(1).max(max).default(standard).describe(pageOf(items));
}

function pageOf(items: string): string {
  return `Maximum number of ${items} on a page`;
}

/** Queries of lists refuse unknown parameters: an ignored filter would return everything. */
export const PageQuery = z.strictObject({
  limit: queryLimit("items", 100, 20),
  offset: z.coerce.number().int().min(0).default(0).describe("Number of items to skip"),
});

/** An enum that is read in any case: published clients send `Cancelled` and `CANCELLED`. */
export function caseless<const T extends readonly [string, ...string[]]>(
  words: T,
  message?: string,
) {
  return z.preprocess(
    (value) => {
      if (typeof value !== "string") return value;
      return words.find((word) => word.toLowerCase() === value.toLowerCase()) ?? value;
    },
    z.enum(words, message),
  );
}

/** Treats `null` as absent: published clients send it. */
export function optional<T extends z.ZodType>(schema: T) {
  return schema.nullish().transform((value) => value ?? undefined);
}

/** A number that is `standard` where it is null or absent. */
export function numberOr(standard: number, number: z.ZodNumber) {
  return number.nullish().transform((value) => value ?? standard);
}

/** Returns the fields that select a page in a body. `null` counts as absent: published clients send it. */
export function pageOfBody(items: string, { max, standard }: { max: number; standard: number }) {
  return {
    limit: numberOr(standard, z.number().int().min(1).max(max)).describe(pageOf(items)),
    offset: numberOr(0, z.number().int().min(0)).describe(`Number of ${items} to skip`),
  };
}

/** Limit far above real use. */
const MAX_ITEMS = 1000;

/** Checks the length before the items: a million wrong items would be a million issues. */
export function list<T extends z.ZodType>(item: T) {
  return z.preprocess((value, ctx) => {
    if (!Array.isArray(value) || value.length <= MAX_ITEMS) return value;
    ctx.addIssue({ code: "custom", message: `must have at most ${MAX_ITEMS} items` });
    return z.NEVER;
  }, z.array(item));
}

/** Returns a JSON body that is required: otherwise a missing Content-Type would skip the validation. */
export function body<T extends z.ZodType>(schema: T) {
  return { content: { "application/json": { schema } }, required: true } as const;
}

export function json<T extends z.ZodType>(schema: T, description: string) {
  return { content: { "application/json": { schema } }, description } as const;
}

type Contract = Omit<RouteConfig, "method" | "path" | "operationId" | "tags">;

/** Returns a function that declares operations. `document.ts` adds the errors that operations share. */
export function operationWithTag(tag: string) {
  return <const M extends RouteConfig["method"], const P extends string, C extends Contract>(
    method: M,
    path: P,
    operationId: string,
    contract: C,
  ) => createRoute({ ...contract, method, path, operationId, tags: [tag] });
}

export function problem(description: string) {
  return { content: { "application/problem+json": { schema: Problem } }, description } as const;
}

export function text(description: string) {
  return { content: { "text/plain": { schema: z.string() } }, description } as const;
}

function isHttpUrl(text: string): boolean {
  const url = URL.parse(text);
  if (url === null || !["http:", "https:"].includes(url.protocol)) return false;
  return url.username === "" && url.password === "";
}
