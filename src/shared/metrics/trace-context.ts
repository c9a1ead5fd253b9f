/** Span of the program that called an agent, as W3C Trace Context has it: ids in lower-case hex. */
export type CallerSpan = { trace_id: string; span_id: string; flags: string };

/** Accepts more fields, which later versions may have. Ids of zeros and version `ff` are not valid. */
const TRACEPARENT =
  /^(?!ff)(?!00-.{52}-)[0-9a-f]{2}-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})(?:-.*)?$/;
const SPAN_CHARACTERS = 16;

/**
 * Reads the header `traceparent`: https://www.w3.org/TR/trace-context/
 * @returns `null` for everything that is not valid
 */
export function parseTraceparent(value: unknown): CallerSpan | null {
  const found = typeof value === "string" ? TRACEPARENT.exec(value) : null;
  if (found === null) return null;
  const [, trace_id = "", span_id = "", flags = ""] = found;
  return { trace_id, span_id, flags };
}

/** Returns the id of a trace as OpenTelemetry has it. */
export function otelTraceId(trace_id: string): string {
  return trace_id.replaceAll("-", "");
}

/** Returns the id of the span of a run: the last digits of its UUID, which are random in versions 4 and 7. */
export function spanIdOf(run_id: string): string {
  return run_id.replaceAll("-", "").slice(-SPAN_CHARACTERS);
}

/** Returns the header for the calls of a run that continues the trace of its caller. */
export function traceparentOf({ trace_id, flags }: CallerSpan, run_id: string): string {
  return `00-${trace_id}-${spanIdOf(run_id)}-${flags}`;
}
