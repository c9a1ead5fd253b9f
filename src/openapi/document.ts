import type { ApiOperation } from "../shared/http/operations.ts";
import { isIngestion, isOtlp } from "../traces/ingest/ingestion-paths.ts";

type Responses = Record<string, unknown>;
type Shape = { type: string; schema: unknown };

const ref = (name: string) => ({ $ref: `#/components/schemas/${name}` });
const DETAIL: Shape = { type: "application/json", schema: ref("ErrorDetail") };
const ISSUES: Shape = { type: "application/json", schema: ref("HTTPValidationError") };
const PROBLEM: Shape = { type: "application/problem+json", schema: ref("Problem") };
const INGEST_ERROR: Shape = { type: "application/json", schema: ref("IngestError") };
const OTLP_STATUS: Shape = { type: "application/json", schema: ref("OtlpStatus") };
const TEXT: Shape = { type: "text/plain", schema: { type: "string" } };

const BUSY = "Temporarily unavailable: retry after `Retry-After` seconds";
const INVALID = "Invalid field, parameter or header";
const ALWAYS = { 429: "Too many requests: retry after `Retry-After` seconds" };
const CALLER = {
  401: "Missing or invalid credentials",
  403: "The caller's role does not allow this operation, or the key names no workspace",
  422: INVALID,
};
const PATH = { 404: "The resource does not exist, or the caller may not see it", 422: INVALID };
const BODY = {
  400: "Malformed JSON, or fields that exclude each other",
  408: "The body paused for too long, or arrived too slowly",
  413: "Body too large",
  415: "Unsupported Content-Type",
  422: INVALID,
  503: BUSY,
};
const QUOTA = {
  402: "A quota of the workspace is used up. The text names it, and the time at which it resets, if any",
};
const LIMITED_BY_QUOTA = new Set([
  ...["createRun", "streamRun", "waitRun", "createRunBatch", "sendThreadCommand", "fireCron"],
  ...["createThreadlessRun", "streamThreadlessRun", "waitThreadlessRun"],
  ...["createTraceRun", "patchTraceRun", "ingestRunsBatch", "ingestRunsMultipart"],
  ...["callMcp", "callA2a", "ingestSpans", "createBulkExport", "retryBulkExport"],
  ...["createDeployment", "updateDeployment", "createRevision", "createUploadUrl"],
  ...["redeployRevision", "redeployProjectRevision", "receiveWebhook"],
]);
const AGENT = {
  400: "Invalid request",
  404: "The deployment or the resource does not exist, or the caller may not see it",
  409: "Conflict with the current state of the resource",
  500: "Internal error",
  503: BUSY,
};

/** Returns the responses of an operation, with the errors that it shares with others, such as those of middleware. */
export function completeResponses(operation: ApiOperation, responses: Responses): Responses {
  const texts = {
    ...ALWAYS,
    ...(operation.is_public ? {} : CALLER),
    ...(operation.path.includes("{") ? PATH : {}),
    ...(operation.reads_body ? BODY : {}),
    ...(operation.path.startsWith("/agents/") ? AGENT : {}),
    ...(LIMITED_BY_QUOTA.has(operation.operationId) ? QUOTA : {}),
  };
  const general = Object.entries(texts).map(([status, description]) => {
    const { type, schema } = shapeOf(operation, status);
    return [status, { description, content: { [type]: { schema } } }];
  });
  return { ...Object.fromEntries(general), ...responses };
}

function shapeOf({ method, path }: ApiOperation, status: string): Shape {
  if (path.startsWith("/agents/")) return TEXT;
  if (path.startsWith("/api/v2/")) return PROBLEM;
  if (isOtlp(path)) return OTLP_STATUS;
  if (isIngestion(method, path)) return INGEST_ERROR;
  return status === "422" ? ISSUES : DETAIL;
}
