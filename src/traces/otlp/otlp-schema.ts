import { z } from "@hono/zod-openapi";
import { namedObject, textField } from "../../shared/schema.ts";

export const OtlpAccepted = namedObject("OtlpAccepted", {
  partialSuccess: z
    .object({
      rejectedSpans: textField("Number of rejected spans", "1"),
      errorMessage: textField(
        "Reasons of the first rejected spans",
        "start_time_unix_nano: required",
      ),
    })
    .optional()
    .describe("Missing when all spans are stored"),
});

export const OtlpStatus = namedObject("OtlpStatus", {
  code: z.number().int().openapi({ description: "Code of gRPC", example: 3 }),
  message: textField(
    "What is wrong and how to correct it",
    "Content-Type must be application/x-protobuf or application/json.",
  ),
});

export const OtlpHeaders = z.object({
  "langsmith-project": z
    .string()
    .optional()
    .openapi({ description: "Name of the project, created when missing", example: "my-project" }),
});

const text = (description: string, example: string) => ({
  type: "string" as const,
  description,
  example,
});
const TIME = "1763712000000000000";
const span = {
  type: "object",
  properties: {
    traceId: text("16 bytes in hexadecimal", "5b8efff798038103d269b633813fc60c"),
    spanId: text("8 bytes in hexadecimal", "eee19b7ec3c1b174"),
    parentSpanId: text("Id of the parent span, empty for a root span", ""),
    name: text("Name", "chat small-model"),
    startTimeUnixNano: text("Start in nanoseconds since 1970", TIME),
    endTimeUnixNano: text("End in nanoseconds since 1970", TIME),
    attributes: {
      type: "array",
      description: "Attributes",
      items: {
        type: "object",
        properties: {
          key: text("Name of the attribute", "gen_ai.operation.name"),
          value: { type: "object", description: "AnyValue", example: { stringValue: "chat" } },
        },
      },
    },
  },
} as const;

const resourceSpans = {
  type: "array",
  description: "Spans by resource and instrumentation scope",
  items: {
    type: "object",
    properties: {
      scopeSpans: {
        type: "array",
        description: "Spans by instrumentation scope",
        items: {
          type: "object",
          properties: { spans: { type: "array", description: "Spans", items: span } },
        },
      },
    },
  },
} as const;

/** OpenAPI only: bodies are parsed by `json.ts` and `protobuf.ts`. */
export const OTLP_BODY = {
  content: {
    "application/json": { schema: { type: "object", properties: { resourceSpans } } },
    "application/x-protobuf": { schema: { type: "string", format: "binary", example: "" } },
  },
  required: true,
} as const;
