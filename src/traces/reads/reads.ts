import { otelTraceId } from "../../shared/metrics/trace-context.ts";
import { rootDayOf } from "../dotted-order.ts";
import type { Columns, TraceRunRow } from "../rows/rows.ts";
import { EVERY_RUN } from "../rows/run-source.ts";
import { FAR_TERM, onlyTerm, termOf } from "../terms.ts";
import { MessageRows } from "./message-size.ts";
import type { RunReader } from "./run-reader.ts";

export type RunBelow = { id: string; parent_run_id: string | null };
export type MetadataPair = [key: string, value: string];
/** Trace whose root was called by a span of another trace. */
export type CalledTrace = { trace_id: string; span_id: string };
export type FarTrace = { root_day: string; trace_id: string };

/** Runs of the first `read` ids. */
export type RunsById = { runs: TraceRunRow[]; read: number };

/** Maximum number of traces that one read finds. */
export const MAX_FOUND = 10_000;
/**
 * Maximum number of called traces from a partition: a query of the calling trace looks up each in all partitions it
 * reads.
 */
const MAX_CALLED = 1000;

/** Returns traces with runs here whose roots started on another day. */
export function findFarTraces({ source }: RunReader): FarTrace[] {
  const found = new Map<string, FarTrace>();
  for (const run of source.live({ ...EVERY_RUN, candidates: [[onlyTerm(FAR_TERM)]] })) {
    const { trace_id } = run;
    const root_day = rootDayOf(run);
    if (root_day !== null) found.set(`${root_day}/${trace_id}`, { root_day, trace_id });
    if (found.size === MAX_FOUND) break;
  }
  return [...found.values()];
}

/** Returns traces with a run that has one of the pairs in its metadata. */
export function findTracesWith({ source }: RunReader, pairs: MetadataPair[]): string[] {
  const terms = pairs.map(([key, value]) => onlyTerm(termOf("m", key, value)));
  const wanted = new Set(pairs.map((pair) => JSON.stringify(pair)));
  const found = new Set<string>();
  for (const run of source.live({ ...EVERY_RUN, candidates: [terms] })) {
    const hasPair = run.pairs("m").some(([key, value]) => wanted.has(JSON.stringify([key, value])));
    if (hasPair) found.add(run.trace_id);
    if (found.size === MAX_FOUND) break;
  }
  return [...found];
}

/** Returns the traces whose roots name a span of this trace as their caller, by the id of OpenTelemetry. */
export function findCalled({ source }: RunReader, trace_id: string): CalledTrace[] {
  const otel_trace_id = otelTraceId(trace_id);
  const term = onlyTerm(termOf("m", "otel_trace_id", otel_trace_id));
  const called: CalledTrace[] = [];
  for (const run of source.live({ ...EVERY_RUN, is_root: true, candidates: [[term]] })) {
    const metadata = new Map(run.pairs("m").map(([key, value]) => [key, value]));
    const span_id = metadata.get("otel_parent_span_id");
    if (run.is_root !== 1 || metadata.get("otel_trace_id") !== otel_trace_id || !span_id) continue;
    called.push({ trace_id: run.trace_id, span_id });
    if (called.length === MAX_CALLED) break;
  }
  return called;
}

/** Reads runs in the order of their ids: at least one, then as many as fit a message. */
export function readByIds(reader: RunReader, ids: string[], columns: Columns): RunsById {
  const page = new MessageRows<TraceRunRow>();
  for (const [at, id] of ids.entries()) {
    const run = reader.source.byId(id);
    if (run === null) continue;
    if (page.isFull) return { runs: page.rows, read: at };
    page.add(reader.toRow(run, columns));
  }
  return { runs: page.rows, read: ids.length };
}

/**
 * Returns the runs below one, sorted by dotted order. The answer omits the orders: those of a deep trace are too large.
 */
export function readBelow({ source }: RunReader, trace_id: string, run_id: string): RunBelow[] {
  return source
    .ofTrace(trace_id)
    .map(({ id, parent_run_id, dotted_order }) => ({ id, parent_run_id, dotted_order }))
    .filter(({ id, dotted_order }) => id !== run_id && dotted_order?.includes(`${run_id}.`))
    .sort(byDottedOrder)
    .map(({ id, parent_run_id }) => ({ id, parent_run_id }));
}

type OrderedRun = { id: string; dotted_order: string | null };

/** Compares by dotted order. Runs without one are last. */
export function byDottedOrder(a: OrderedRun, b: OrderedRun): number {
  if (a.dotted_order === b.dotted_order) return a.id < b.id ? -1 : 1;
  if (a.dotted_order === null || b.dotted_order === null) return a.dotted_order === null ? 1 : -1;
  return a.dotted_order < b.dotted_order ? -1 : 1;
}
