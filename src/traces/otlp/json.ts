import { AppError } from "../../shared/errors.ts";
import { isRecord } from "../../shared/guards.ts";
import { parseJsonBody } from "../../shared/http/json-body.ts";
import { ContainerBudget } from "../json.ts";
import { toDouble, toInteger } from "./protobuf-values.ts";
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
  spendPart,
  spendValue,
} from "./span.ts";

type Fields = Record<string, unknown>;

/** Decodes an ExportTraceServiceRequest in OTLP's JSON: ids are hex, integers may be text. */
export function decodeJson(text: string): DecodedSpans {
  const into: DecodedSpans = { spans: [], rejected: 0, reasons: [] };
  const budget = fullBudget();
  const body = parse(text);
  for (const one of listOf(body, "resourceSpans")) {
    spendPart(budget);
    decodeResourceSpans(one, budget, into);
  }
  return into;
}

function decodeResourceSpans(value: unknown, budget: DecodeBudget, into: DecodedSpans): void {
  const resource = toResource(fieldsOf(value, "resource"), budget);
  for (const scoped of listOf(value, "scopeSpans")) {
    spendPart(budget);
    const scope = textOf(fieldsOf(scoped, "scope"), "name");
    for (const span of listOf(scoped, "spans")) {
      spendPart(budget);
      if (typeof resource === "string") rejectSpans(into, 1, resource);
      else addSpan(into, () => ({ ...toSpan(span, budget), scope, resource }));
    }
  }
}

function parse(text: string): Fields {
  new ContainerBudget().spend(text);
  const value = parseJsonBody(text);
  if (isRecord(value)) return value;
  throw new AppError("bad_request", "body: must be an object with the list resourceSpans");
}

/** @returns the attributes, or as text the reason why the resource is not valid */
function toResource(resource: Fields, budget: DecodeBudget): Attributes | string {
  try {
    return toAttributes(resource, budget);
  } catch (error) {
    return `resource: ${error instanceof SpanError ? error.message : "malformed"}`;
  }
}

function toSpan(value: unknown, budget: DecodeBudget): Omit<OtlpSpan, "scope" | "resource"> {
  if (!isRecord(value)) throw new SpanError("a span must be an object");
  const events = listOf(value, "events");
  const links = listOf(value, "links");
  assertCount("events", events.length, MAX_EVENTS);
  assertCount("links", links.length, MAX_EVENTS);
  const status = fieldsOf(value, "status");
  return {
    trace_id: idOf(value, "traceId"),
    span_id: idOf(value, "spanId"),
    parent_span_id: idOf(value, "parentSpanId"),
    name: textOf(value, "name"),
    start_ns: nanosOf(value, "startTimeUnixNano"),
    end_ns: nanosOf(value, "endTimeUnixNano"),
    attributes: toAttributes(value, budget),
    events: events.map((event) => ({
      name: textOf(event, "name"),
      time_ns: nanosOf(event, "timeUnixNano"),
      attributes: toAttributes(event, budget),
    })),
    links: links.map((link) => ({
      trace_id: idOf(link, "traceId"),
      span_id: idOf(link, "spanId"),
      attributes: toAttributes(link, budget),
    })),
    status: { code: statusCode(status.code), message: textOf(status, "message") },
  };
}

function toAttributes(holder: unknown, budget: DecodeBudget): Attributes {
  const pairs = listOf(holder, "attributes");
  assertCount("attributes", pairs.length, MAX_ATTRIBUTES);
  return new Map(pairs.map((pair) => toPair(pair, budget, 0)));
}

function toPair(pair: unknown, budget: DecodeBudget, depth: number): [string, unknown] {
  return [textOf(pair, "key"), toValue(fieldsOf(pair, "value"), budget, depth)];
}

/** Converts an AnyValue, an object with one field. */
function toValue(value: Fields, budget: DecodeBudget, depth: number): unknown {
  spendValue(budget, depth);
  for (const [type, read] of Object.entries(READERS)) {
    const inner = value[type];
    if (inner !== undefined && inner !== null) return read(inner, budget, depth + 1);
  }
  return null;
}

type ValueReader = (inner: unknown, budget: DecodeBudget, depth: number) => unknown;

const READERS: Record<string, ValueReader> = {
  stringValue: String,
  boolValue: (inner) => inner === true || inner === "true",
  intValue: (inner) => toInteger(typeof inner === "number" ? inner : String(inner)),
  doubleValue: (inner) => toDouble(Number(inner)),
  bytesValue: String,
  arrayValue: (inner, budget, depth) =>
    listOf(inner, "values").map((item) => toValue(isRecord(item) ? item : {}, budget, depth)),
  kvlistValue: (inner, budget, depth) =>
    Object.fromEntries(listOf(inner, "values").map((item) => toPair(item, budget, depth))),
};

const STATUS_CODES = ["STATUS_CODE_UNSET", "STATUS_CODE_OK", "STATUS_CODE_ERROR"];

/** Accepts names of the enum too, which other JSON mappings of protobuf write. */
function statusCode(value: unknown): number {
  return typeof value === "number" ? value : Math.max(0, STATUS_CODES.indexOf(String(value)));
}

function idOf(holder: unknown, name: string): string {
  const id = textOf(holder, name).toLowerCase();
  if (/^[0-9a-f]*$/.test(id)) return id;
  throw new SpanError(`${name}: must be hexadecimal`);
}

function nanosOf(holder: unknown, name: string): bigint {
  const value = isRecord(holder) ? (holder[name] ?? "0") : "0";
  const text = typeof value === "number" ? value.toFixed(0) : String(value);
  if (/^\d{1,20}$/.test(text)) return BigInt(text);
  throw new SpanError(`${name}: must be nanoseconds since 1970`);
}

function textOf(holder: unknown, name: string): string {
  const value = isRecord(holder) ? holder[name] : undefined;
  return typeof value === "string" ? value : "";
}

function fieldsOf(holder: unknown, name: string): Fields {
  const value = isRecord(holder) ? holder[name] : undefined;
  return isRecord(value) ? value : {};
}

function listOf(holder: unknown, name: string): unknown[] {
  const value = isRecord(holder) ? holder[name] : undefined;
  return Array.isArray(value) ? value : [];
}
