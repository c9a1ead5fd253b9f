import type { Home } from "../changes.ts";

/** Home of a run or of feedback by its id, or of spans of a trace by their `sharedId`. An id may have several. */
export type Location = Home & { id: string };

/** Characters of an OTLP span's run id before the id of the span: a hash of its trace. */
const TRACE_CHARS = 19;
const NO_SPAN = "0000-000000000000";

/**
 * Returns the id under which the spans of a trace share their locations. `null` unless the id has version 8, that of
 * spans.
 */
export function sharedId(id: string): string | null {
  return id[14] === "8" ? id.slice(0, TRACE_CHARS) + NO_SPAN : null;
}
