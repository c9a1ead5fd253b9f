import type { Operation } from "./shared/operations.ts";
import { isIngestion } from "./shared/paths.ts";

type Responses = Record<string, unknown>;
type Shape = { type: string; schema: unknown };

const ref = (name: string) => ({ $ref: `#/components/schemas/${name}` });
const DETAIL: Shape = { type: "application/json", schema: ref("ErrorDetail") };
const ISSUES: Shape = { type: "application/json", schema: ref("HTTPValidationError") };
const PROBLEM: Shape = { type: "application/problem+json", schema: ref("Problem") };
const INGEST_ERROR: Shape = { type: "application/json", schema: ref("IngestError") };
const TEXT: Shape = { type: "text/plain", schema: { type: "string" } };

const CALLER = {
  401: "No valid credentials",
  403: "The caller's role does not allow this, or it names no workspace of its own",
  422: "A field is wrong, or a header",
};
/** Without a caller, requests are counted by the network they come from. */
const LIMITED = { 429: "Too many requests; `Retry-After` has the seconds to wait" };
const BODY = {
  400: "Malformed JSON, or fields that exclude each other",
  413: "Body too large",
  415: "The Content-Type is not one that this operation reads",
  422: "A field is wrong",
};

/**
 * What an operation may answer before its own code is reached: whoever adds a route need not repeat
 * it, and what the route says itself stays.
 */
export function completeResponses(operation: Operation, responses: Responses): Responses {
  const texts = {
    ...LIMITED,
    ...(operation.is_public ? {} : CALLER),
    ...(operation.reads_body ? BODY : {}),
  };
  const general = Object.entries(texts).map(([status, description]) => {
    const { type, schema } = shapeOf(operation, status);
    return [status, { description, content: { [type]: { schema } } }];
  });
  return { ...Object.fromEntries(general), ...responses };
}

function shapeOf({ method, path }: Operation, status: string): Shape {
  if (path.startsWith("/agents/")) return TEXT;
  if (path.startsWith("/api/v2/")) return PROBLEM;
  if (isIngestion(method, path)) return INGEST_ERROR;
  return status === "422" ? ISSUES : DETAIL;
}
