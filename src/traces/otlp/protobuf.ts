import { type BinaryReader, WireType } from "@bufbuild/protobuf/wire";
import { AppError } from "../../shared/errors.ts";
import { malformed } from "../ingest/body.ts";
import {
  type Bytes,
  forEachField,
  forEachMessage,
  hexOf,
  messageOf,
  textOf,
  toHex,
} from "./protobuf-fields.ts";
import { readKeyValue } from "./protobuf-values.ts";
import {
  type Attributes,
  addSpan,
  assertCount,
  type DecodeBudget,
  type DecodedSpans,
  fullBudget,
  MAX_ATTRIBUTES,
  MAX_EVENTS,
  type OtlpSpan,
  rejectSpans,
  SpanError,
  type SpanEvent,
  type SpanLink,
  spendPart,
} from "./span.ts";

/**
 * Decodes an ExportTraceServiceRequest. Each span is decoded by itself from its length-delimited
 * bytes, so that a malformed span is refused alone. The numbers of fields are those of
 * https://github.com/open-telemetry/opentelemetry-proto/blob/main/opentelemetry/proto/trace/v1/trace.proto
 */
export function decodeProtobuf(bytes: Bytes): DecodedSpans {
  const into: DecodedSpans = { spans: [], rejected: 0, reasons: [] };
  const budget = fullBudget();
  try {
    forEachPart(bytes, 1, budget, (resource) => decodeResourceSpans(resource, budget, into));
  } catch (error) {
    if (error instanceof AppError) throw error;
    const text = "The body is not a valid ExportTraceServiceRequest: it is truncated or corrupt.";
    throw malformed(text, error);
  }
  return into;
}

function decodeResourceSpans(bytes: Bytes, budget: DecodeBudget, into: DecodedSpans): void {
  const resource = decodeResource(bytes, budget);
  forEachPart(bytes, 2, budget, (scope) => {
    const name = textOf(messageOf(scope, 1), 1);
    forEachPart(scope, 2, budget, (span) => {
      if (typeof resource === "string") rejectSpans(into, 1, resource);
      else addSpan(into, () => ({ ...decodeSpan(span, budget), scope: name, resource }));
    });
  });
}

/** @returns the attributes, or as text the reason why the resource is not valid */
function decodeResource(bytes: Bytes, budget: DecodeBudget): Attributes | string {
  try {
    return attributesOf(messageOf(bytes, 1), 1, budget);
  } catch (error) {
    return `resource: ${error instanceof SpanError ? error.message : "malformed"}`;
  }
}

function decodeSpan(bytes: Bytes, budget: DecodeBudget): OtlpSpan {
  const span: OtlpSpan = { ...EMPTY, attributes: new Map(), events: [], links: [] };
  forEachField(bytes, (field, type, reader) => {
    if (type === WireType.Bit64 && (field === 7 || field === 8)) {
      span[field === 7 ? "start_ns" : "end_ns"] = BigInt(reader.fixed64());
      return true;
    }
    return type === WireType.LengthDelimited && readPart(span, field, reader, budget);
  });
  return span;
}

const EMPTY = {
  trace_id: "",
  span_id: "",
  parent_span_id: "",
  name: "",
  start_ns: 0n,
  end_ns: 0n,
  status: { code: 0, message: "" },
  scope: "",
  resource: new Map(),
} satisfies Partial<OtlpSpan>;

const IDS = { 1: "trace_id", 2: "span_id", 4: "parent_span_id" } as const;

function readPart(
  span: OtlpSpan,
  field: number,
  reader: BinaryReader,
  budget: DecodeBudget,
): boolean {
  switch (field) {
    case 1:
    case 2:
    case 4:
      span[IDS[field]] = toHex(reader.bytes());
      return true;
    case 5:
      span.name = reader.string();
      return true;
    case 9:
      readKeyValue(reader, span.attributes, budget);
      assertCount("attributes", span.attributes.size, MAX_ATTRIBUTES);
      return true;
    case 11:
      span.events.push(decodeEvent(reader.bytes(), budget));
      assertCount("events", span.events.length, MAX_EVENTS);
      return true;
    case 13:
      span.links.push(decodeLink(reader.bytes(), budget));
      assertCount("links", span.links.length, MAX_EVENTS);
      return true;
    case 15:
      span.status = decodeStatus(reader.bytes());
      return true;
    default:
      return false;
  }
}

function decodeEvent(bytes: Bytes, budget: DecodeBudget): SpanEvent {
  const event: SpanEvent = { name: textOf(bytes, 2), time_ns: 0n, attributes: new Map() };
  forEachField(bytes, (field, type, reader) => {
    if (field !== 1 || type !== WireType.Bit64) return false;
    event.time_ns = BigInt(reader.fixed64());
    return true;
  });
  return { ...event, attributes: attributesOf(bytes, 3, budget) };
}

function decodeLink(bytes: Bytes, budget: DecodeBudget): SpanLink {
  return {
    trace_id: hexOf(bytes, 1),
    span_id: hexOf(bytes, 2),
    attributes: attributesOf(bytes, 4, budget),
  };
}

function decodeStatus(bytes: Bytes): OtlpSpan["status"] {
  let code = 0;
  forEachField(bytes, (field, type, reader) => {
    if (field !== 3 || type !== WireType.Varint) return false;
    code = reader.int32();
    return true;
  });
  return { code, message: textOf(bytes, 2) };
}

function attributesOf(bytes: Bytes, wanted: number, budget: DecodeBudget): Attributes {
  const attributes: Attributes = new Map();
  forEachField(bytes, (field, type, reader) => {
    if (field !== wanted || type !== WireType.LengthDelimited) return false;
    readKeyValue(reader, attributes, budget);
    assertCount("attributes", attributes.size, MAX_ATTRIBUTES);
    return true;
  });
  return attributes;
}

function forEachPart(
  bytes: Bytes,
  field: number,
  budget: DecodeBudget,
  read: (part: Bytes) => void,
): void {
  forEachMessage(bytes, field, (part) => {
    spendPart(budget);
    read(part);
  });
}
