import type { TraceRunRow } from "../rows/rows.ts";
import { byDottedOrder, type CalledTrace, findCalled } from "./reads.ts";
import type { RunReader } from "./run-reader.ts";

const COLUMNS = [
  ...(["id", "parent_run_id", "dotted_order", "name", "run_type", "status"] as const),
  ...(["start_us", "end_us", "first_token_us", "tags"] as const),
  ...(["total_tokens", "prompt_tokens", "completion_tokens"] as const),
  ...(["total_cost", "prompt_cost", "completion_cost"] as const),
] satisfies (keyof TraceRunRow)[];

/** Row of a trace run without payloads. `error` is the beginning of the error. */
export type SpanRow = Pick<TraceRunRow, (typeof COLUMNS)[number] | "error"> & {
  is_error_cut: number;
};

/**
 * Ids of changed runs of a trace. `exists`: whether the partition has runs of the trace. `called`: see `findCalled`.
 */
export type TraceListing = {
  seq: number;
  exists: boolean;
  ids: string[];
  called: CalledTrace[];
};
/** Spans of the first `read` ids of a request. */
export type SpanPage = { spans: SpanRow[]; read: number };

export const MAX_SPANS = 100_000;
export const MAX_SPAN_ERROR_CHARS = 500;
/** Maximum size of a page, far below the limit of RPC: 32 MiB in a message. */
export const MAX_PAGE_CHARS = 1_000_000;

/**
 * Lists the runs that changed after `min_seq`, sorted once for all pages of their spans: at most one more than
 * `MAX_SPANS`.
 */
export function listTrace(
  reader: RunReader,
  trace_id: string,
  min_seq: number,
): Omit<TraceListing, "seq"> {
  const runs = reader.source
    .ofTrace(trace_id)
    .map(({ id, dotted_order, changed_seq }) => ({ id, dotted_order, changed_seq }));
  const changed = runs.filter(({ changed_seq }) => changed_seq > min_seq).sort(byDottedOrder);
  return {
    exists: runs.length > 0,
    ids: changed.slice(0, MAX_SPANS + 1).map(({ id }) => id),
    called: findCalled(reader, trace_id),
  };
}

/** Reads at least one run, then as many as fit a page. Deleted runs are skipped. */
export function readSpans(reader: RunReader, ids: string[], max_chars: number): SpanPage {
  const spans: SpanRow[] = [];
  let chars = 0;
  for (const [at, id] of ids.entries()) {
    const run = reader.source.byId(id);
    if (run === null) continue;
    if (chars > max_chars) return { spans, read: at };
    const span = { ...reader.toRow(run, COLUMNS), ...cutError(run.error) } as SpanRow;
    chars += JSON.stringify(span).length;
    spans.push(span);
  }
  return { spans, read: ids.length };
}

function cutError(text: string | null): Pick<SpanRow, "error" | "is_error_cut"> {
  if (text === null || text.length <= MAX_SPAN_ERROR_CHARS) return { error: text, is_error_cut: 0 };
  const characters = [...text.slice(0, 2 * MAX_SPAN_ERROR_CHARS)];
  const error = characters.slice(0, MAX_SPAN_ERROR_CHARS).join("");
  return { error, is_error_cut: error.length < text.length ? 1 : 0 };
}
