import { BinaryWriter, WireType } from "@bufbuild/protobuf/wire";
import type { AppError } from "../../shared/errors.ts";

export const PROTOBUF = "application/x-protobuf";
const JSON_TYPE = "application/json";

/** Codes of google.rpc.Status by HTTP status. */
const CODES: Record<number, number> = {
  400: 3, // INVALID_ARGUMENT
  401: 16, // UNAUTHENTICATED
  402: 8, // RESOURCE_EXHAUSTED
  403: 7, // PERMISSION_DENIED
  404: 5, // NOT_FOUND
  405: 12, // UNIMPLEMENTED
  409: 10, // ABORTED
  413: 8,
  415: 3,
  429: 8,
  503: 14, // UNAVAILABLE
};
/** Code of google.rpc.Status for every other HTTP status. */
const UNKNOWN = 2;
const UNAVAILABLE_STATUS = 503;
const RETRY_SECONDS = "5";

export type Rejection = { rejected: number; reason: string };

/** Returns an ExportTraceServiceResponse in the encoding of the request. */
export function exportResponse(request: Request, { rejected, reason }: Rejection): Response {
  if (isProtobuf(request)) {
    const body = new BinaryWriter();
    if (rejected > 0) {
      body.tag(1, WireType.LengthDelimited).fork();
      body.tag(1, WireType.Varint).int64(rejected).tag(2, WireType.LengthDelimited).string(reason);
      body.join();
    }
    return new Response(body.finish(), { headers: { "Content-Type": PROTOBUF } });
  }
  const partialSuccess = { rejectedSpans: String(rejected), errorMessage: reason };
  return Response.json(rejected > 0 ? { partialSuccess } : {});
}

/**
 * Returns a google.rpc.Status in the encoding of the request. Exporters retry 429, 502, 503 and 504, and drop the
 * spans otherwise. So an internal error and a timeout are a 503: a repeated request stores the same.
 */
export function otlpError(request: Request, failure: AppError, headers: Headers): Response {
  const status = statusOf(failure);
  if (status === UNAVAILABLE_STATUS && !headers.has("Retry-After"))
    headers.set("Retry-After", RETRY_SECONDS);
  const code = CODES[status] ?? UNKNOWN;
  if (!isProtobuf(request)) {
    return Response.json({ code, message: failure.message }, { status, headers });
  }
  const body = new BinaryWriter().tag(1, WireType.Varint).int32(code);
  body.tag(2, WireType.LengthDelimited).string(failure.message);
  headers.set("Content-Type", PROTOBUF);
  return new Response(body.finish(), { status, headers });
}

function statusOf({ code, status }: AppError): number {
  if (code === "internal" || code === "request_timeout") return UNAVAILABLE_STATUS;
  return code === "invalid_request" ? 400 : status;
}

export function isProtobuf(request: Request): boolean {
  return mediaType(request) === PROTOBUF;
}

export function isJson(request: Request): boolean {
  return mediaType(request) === JSON_TYPE;
}

function mediaType({ headers }: Request): string {
  return (headers.get("Content-Type") ?? "").split(";")[0]?.trim().toLowerCase() ?? "";
}
