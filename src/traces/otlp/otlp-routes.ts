import { router } from "../../shared/http/http.ts";
import { json, operationWithTag } from "../../shared/schema.ts";
import { exportResponse } from "./answers.ts";
import { OTLP_BODY, OtlpAccepted, OtlpHeaders, OtlpStatus } from "./otlp-schema.ts";
import { ingestSpans } from "./otlp-service.ts";

export const otlpRoutes = router();

const operation = operationWithTag("Trace runs");

const ingest = operation("post", "/api/v1/otel/v1/traces", "ingestSpans", {
  summary: "Create trace runs from OpenTelemetry spans",
  description:
    "OTLP over HTTP, as protobuf or JSON, plain or compressed with gzip, deflate or zstd; `/otel/v1/traces` is the same path. Spans of a trace may come in any order and in any number of requests. The answer has the encoding of the request, and counts rejected spans; the others are stored.",
  request: { headers: OtlpHeaders, body: OTLP_BODY },
  responses: {
    200: json(OtlpAccepted, "The spans are stored durably, except rejected ones"),
    400: json(OtlpStatus, "The body is not a valid ExportTraceServiceRequest"),
    503: json(OtlpStatus, "Temporarily unavailable: retry after `Retry-After` seconds"),
  },
});
otlpRoutes.openapi(ingest, async (c) => {
  const request = c.req.raw;
  return exportResponse(request, await ingestSpans(c.var.ctx, request)) as never;
});
