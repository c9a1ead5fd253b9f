import { sha256Hex } from "../../shared/crypto/crypto.ts";
import type { Attributes, OtlpSpan } from "./span.ts";

/** Ids of a span's run and of the runs above it. */
export type SpanRefs = {
  id: string;
  trace_id: string;
  /** `null` for a root run. */
  parent_run_id: string | null;
  dotted_order: string | null;
  /** Ids by which child spans name this run, other than its own id. */
  span_ids: string[];
};

/** Hexadecimal digits of a span id. */
const SPAN_ID_CHARS = 16;
const PREFIX_CHARS = 16;

/**
 * Ids of runs. Without attributes of LangSmith, they follow from the trace id and the span id alone, so that a span and
 * its children agree in whatever order they arrive. The id of a trace and of its root run is the trace id as a UUID. The
 * id of any other run begins with a hash of the trace id and ends with the span id.
 */
export class SpanIds {
  readonly #prefixes = new Map<string, string>();

  refsOf(span: OtlpSpan): SpanRefs {
    const { attributes } = span;
    const otel_trace_id = toUuid(span.trace_id);
    const derived = this.#runId(span.trace_id, span.span_id);
    const trace_id = idIn(attributes, "langsmith.trace.id") ?? otel_trace_id;
    const isRoot = trace_id === otel_trace_id && isRootSpan(span);
    const id = idIn(attributes, "langsmith.span.id") ?? (isRoot ? trace_id : derived);
    const parent = idIn(attributes, "langsmith.span.parent_id") ?? this.#parentOf(span, trace_id);
    const parent_run_id = parent === id ? null : parent;
    const dotted_order = textIn(attributes, "langsmith.span.dotted_order");
    const names = isRoot ? [derived, this.#runId(span.trace_id, ownParent(span))] : [derived];
    return { id, trace_id, parent_run_id, dotted_order, span_ids: names.filter((n) => n !== id) };
  }

  /** Returns the parent of a span. A root span belongs below the root run of `trace_id`, if that is another trace. */
  #parentOf(span: OtlpSpan, trace_id: string): string | null {
    if (!isRootSpan(span)) return this.#runId(span.trace_id, span.parent_span_id);
    return trace_id === toUuid(span.trace_id) ? null : trace_id;
  }

  #runId(trace_id: string, span_id: string): string {
    let prefix = this.#prefixes.get(trace_id);
    if (prefix === undefined) {
      prefix = prefixOf(trace_id);
      this.#prefixes.set(trace_id, prefix);
    }
    return toUuid(prefix + span_id);
  }
}

/**
 * Returns an id by which children name the run of a span. It is the run's own id, unless the span is a root or has
 * attributes of LangSmith.
 */
export function runIdOfSpan(trace_id: string, span_id: string): string {
  return toUuid(prefixOf(trace_id) + span_id);
}

/** Returns the first half of a UUID of version 8. Version 7 has a time, which would be taken for that of the run. */
function prefixOf(trace_id: string): string {
  const hash = sha256Hex(trace_id).slice(0, PREFIX_CHARS);
  return `${hash.slice(0, 12)}8${hash.slice(13)}`;
}

/**
 * Whether a span has no parent. OpenTelemetry calls an id of zeros invalid. LangSmith's SDK gives its root span a parent
 * that does not exist: the first half of the trace id.
 */
function isRootSpan(span: OtlpSpan): boolean {
  return /^0*$/.test(span.parent_span_id) || span.parent_span_id === ownParent(span);
}

function ownParent({ trace_id }: OtlpSpan): string {
  return trace_id.slice(0, SPAN_ID_CHARS);
}

function idIn(attributes: Attributes, name: string): string | null {
  return textIn(attributes, name)?.toLowerCase() ?? null;
}

function textIn(attributes: Attributes, name: string): string | null {
  const value = attributes.get(name);
  return typeof value === "string" && value !== "" ? value : null;
}

function toUuid(hex: string): string {
  const parts = [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20)];
  return `${parts.join("-")}-${hex.slice(20)}`;
}
