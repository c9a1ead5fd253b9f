import { AppError } from "../../shared/errors.ts";

/** OTLP span after decoding. Ids are lower-case hex, times are nanoseconds since 1970. */
export type OtlpSpan = {
  trace_id: string;
  span_id: string;
  /** `""` for a root span. */
  parent_span_id: string;
  name: string;
  start_ns: bigint;
  /** 0 for a span without an end. */
  end_ns: bigint;
  attributes: Attributes;
  events: SpanEvent[];
  links: SpanLink[];
  status: { code: number; message: string };
  scope: string;
  resource: Attributes;
};

export type Attributes = Map<string, unknown>;
export type SpanEvent = { name: string; time_ns: bigint; attributes: Attributes };
export type SpanLink = { trace_id: string; span_id: string; attributes: Attributes };

/** Accepted spans of a request, the number of rejected ones, and up to `MAX_REASONS` different reasons. */
export type DecodedSpans = { spans: OtlpSpan[]; rejected: number; reasons: string[] };

export const MAX_SPANS = 10_000;
/**
 * Limit of values in a request. A value can have two bytes on the wire, and needs much more in memory. In protobuf, a
 * pair of a key and a value counts as one more.
 */
const MAX_VALUES = 1_000_000;
/** Limit of resources, scopes and spans of a request. Each can be two bytes long. */
const MAX_PARTS = 100_000;
export const MAX_ATTRIBUTES = 5000;
/** Limit of a span's events, and the same limit of its links. */
export const MAX_EVENTS = 2000;
export const MAX_VALUE_DEPTH = 64;
const MAX_REASONS = 5;
const UNSET = /^0*$/;

/** Failure that concerns one span, or one resource with its spans. */
export class SpanError extends Error {}

/** Number of values, and of resources, scopes and spans, that the rest of a request may have. */
export type DecodeBudget = { values: number; parts: number };

export function fullBudget(): DecodeBudget {
  return { values: MAX_VALUES, parts: MAX_PARTS };
}

export function spendValue(budget: DecodeBudget, depth = 0): void {
  budget.values -= 1;
  if (budget.values < 0) throw new SpanError(`the request has more than ${MAX_VALUES} values`);
  if (depth > MAX_VALUE_DEPTH) {
    throw new SpanError(`a value is nested more than ${MAX_VALUE_DEPTH} levels deep`);
  }
}

export function spendPart(budget: DecodeBudget): void {
  budget.parts -= 1;
  if (budget.parts >= 0) return;
  const text = `The request has more than ${MAX_PARTS} resources, scopes and spans; send fewer.`;
  throw new AppError("too_large", text);
}

export function assertCount(name: string, count: number, max: number): void {
  if (count > max) throw new SpanError(`${name}: must have at most ${max} items`);
}

/** Adds the span that `decode` returns, or counts it as rejected. */
export function addSpan(into: DecodedSpans, decode: () => OtlpSpan): void {
  if (into.spans.length >= MAX_SPANS) {
    rejectSpans(into, 1, `a request has at most ${MAX_SPANS} spans; send fewer`);
    return;
  }
  try {
    const span = decode();
    assertIds(span);
    into.spans.push(span);
  } catch (error) {
    rejectSpans(into, 1, error instanceof SpanError ? error.message : "malformed span");
  }
}

export function rejectSpans(into: DecodedSpans, count: number, reason: string): void {
  into.rejected += count;
  if (into.reasons.length < MAX_REASONS && !into.reasons.includes(reason)) {
    into.reasons.push(reason);
  }
}

function assertIds({ trace_id, span_id, parent_span_id, start_ns }: OtlpSpan): void {
  if (trace_id.length !== 32 || UNSET.test(trace_id)) {
    throw new SpanError("trace_id: must be 16 bytes that are not all zero");
  }
  if (span_id.length !== 16 || UNSET.test(span_id)) {
    throw new SpanError("span_id: must be 8 bytes that are not all zero");
  }
  if (parent_span_id !== "" && parent_span_id.length !== 16) {
    throw new SpanError("parent_span_id: must be 8 bytes, or empty for a root span");
  }
  if (parent_span_id === span_id) throw new SpanError("parent_span_id: must not be the span's id");
  if (start_ns <= 0n) throw new SpanError("start_time_unix_nano: required");
}
