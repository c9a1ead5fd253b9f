import type { Context } from "../../shared/context.ts";
import { otelTraceId } from "../../shared/metrics/trace-context.ts";
import { mapConcurrent } from "../../shared/work/chunks.ts";
import type { PartitionKey } from "../changes.ts";
import { findHomes } from "../ingest/placement.ts";
import { mayHave } from "../locations/generations.ts";
import { tracePartition } from "../object/stub.ts";
import { runIdOfSpan } from "../otlp/span-ids.ts";
import type { CalledTrace } from "../reads/reads.ts";
import type { TraceRunRow } from "../rows/rows.ts";
import { partitionsOfTrace } from "./trace-partitions.ts";

/** Called trace, the day of its root, and the run that called it: `parent` is in the calling trace. */
export type TraceBelow = {
  trace_id: string;
  day: string;
  parent: { id: string; trace_id: string; dotted_order: string };
};

type FoundTrace = CalledTrace & Pick<TraceBelow, "day">;

type TreeFields = {
  trace_id: string;
  parent_run_id: string | null;
  dotted_order: string | null;
  is_root: number;
};

const AT_ONCE = 25;
/** Maximum number of called traces in an answer of `readTrace`. */
export const MAX_CALLED_TRACES = 100;

/**
 * Finds the traces that the spans of a trace have called. Finds none while the root of the calling trace is not stored.
 */
export async function findTracesBelow(ctx: Context, trace_id: string): Promise<TraceBelow[]> {
  const home = (await findHomes(ctx, [{ id: trace_id }])).get(trace_id);
  if (home === undefined) return [];
  const keys = await partitionsOfTrace(ctx, trace_id, home);
  const called = await mapConcurrent(keys, AT_ONCE, async (partition) => {
    const found = await tracePartition(ctx.env, partition).findCalled(trace_id);
    return found.map((one) => ({ ...one, day: partition.day }));
  });
  return findCallers(ctx, trace_id, keys, called.flat());
}

/**
 * Returns the called traces, each with the run that has called it. Leaves out those whose calling span is in none of
 * the partitions.
 */
export async function findCallers(
  ctx: Context,
  trace_id: string,
  keys: PartitionKey[],
  all: FoundTrace[],
): Promise<TraceBelow[]> {
  const called = all.filter((one) => one.trace_id !== trace_id);
  if (called.length === 0) return [];
  const nameOf = ({ span_id }: CalledTrace) => runIdOfSpan(otelTraceId(trace_id), span_id);
  const names = [...new Set(called.map(nameOf))];
  const own = keys.filter(({ slot }) => mayHave(slot, trace_id));
  const found = await mapConcurrent(own, AT_ONCE, (partition) =>
    tracePartition(ctx.env, partition).findParents(names),
  );
  const ours = found.flat().filter((parent) => parent.trace_id === trace_id);
  const parents = new Map(ours.map(({ name, ...parent }) => [name, parent]));
  return called.flatMap((one) => {
    const parent = parents.get(nameOf(one));
    return parent ? [{ trace_id: one.trace_id, day: one.day, parent }] : [];
  });
}

/** Returns a run of a called trace as a run of the trace that has called it. */
export function moveBelow<Run extends Partial<TreeFields>>(run: Run, { parent }: TraceBelow): Run {
  const { parent_run_id, dotted_order } = run;
  return {
    ...run,
    ...(run.trace_id !== undefined && { trace_id: parent.trace_id }),
    ...(parent_run_id === null && { parent_run_id: parent.id }),
    ...(run.is_root !== undefined && { is_root: 0 }),
    ...(dotted_order && { dotted_order: `${parent.dotted_order}.${dotted_order}` }),
  };
}

/** Returns matches whose runs of called traces are runs of the trace that has called them. */
export function placedBelow<Match extends { row: TraceRunRow }>(
  matches: Match[],
  below: TraceBelow[],
): Match[] {
  const byTrace = new Map(below.map((one) => [one.trace_id, one]));
  return matches.map((match) => {
    const one = byTrace.get(match.row.trace_id);
    return one ? { ...match, row: moveBelow(match.row, one) } : match;
  });
}
