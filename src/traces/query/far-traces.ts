import type { Context } from "../../shared/context.ts";
import { AppError } from "../../shared/errors.ts";
import { DAY_US, dayOf, toMicros } from "../../shared/times.ts";
import { partitionsOn } from "../catalogue/catalogue.ts";
import type { PartitionKey } from "../changes.ts";
import type { Filter } from "../filter/tree.ts";
import { tracePartition } from "../object/stub.ts";
import { MAX_FOUND } from "../reads/reads.ts";
import type { PartitionRange } from "./scope.ts";

export type TraceFilters = Record<"filter" | "trace_filter" | "tree_filter", Filter | null>;
/** Ids of the traces that match `trace_filter`, and of those that match `tree_filter`. */
export type FarMatches = { trace: string[]; tree: string[] };

type SplitTrace = { project_id: string; root_day: string; trace_id: string };

/**
 * Finds the traces that match `trace_filter` or `tree_filter`, among those with runs on another day than their root.
 * Reads the days of the group, the days beside them, and the days of the traces' roots.
 */
export async function matchFarTraces(
  ctx: Context,
  group: PartitionRange[],
  { trace_filter, tree_filter }: TraceFilters,
): Promise<FarMatches> {
  if (trace_filter === null && tree_filter === null) return { trace: [], tree: [] };
  const ours = new Set(group.map(({ partition }) => partition.project_id));
  const partitionsOf = async (days: string[]) =>
    (await partitionsOn(ctx, [...new Set(days)])).filter(({ project_id }) => ours.has(project_id));
  const near = await partitionsOf(group.flatMap(({ partition }) => daysAround(partition.day)));
  const far = (await Promise.all(near.map((partition) => splitTracesOf(ctx, partition)))).flat();
  if (far.length === 0) return { trace: [], tree: [] };
  const roots = far.map(({ root_day }) => root_day);
  const keys = await partitionsOf([...near.map(({ day }) => day), ...roots]);
  const [trace, tree] = await Promise.all([
    match(ctx, keys, far, trace_filter, true),
    match(ctx, keys, far, tree_filter, false),
  ]);
  return { trace, tree };
}

async function splitTracesOf(ctx: Context, partition: PartitionKey): Promise<SplitTrace[]> {
  const traces = await tracePartition(ctx.env, partition).getFarTraces();
  if (traces.length === MAX_FOUND) {
    const text = `trace_filter, tree_filter: ${MAX_FOUND} traces or more have runs of ${partition.day} and of other days; use filter instead.`;
    throw new AppError("too_large", text);
  }
  return traces.map((trace) => ({ ...trace, project_id: partition.project_id }));
}

async function match(
  ctx: Context,
  keys: PartitionKey[],
  far: SplitTrace[],
  filter: Filter | null,
  roots_only: boolean,
): Promise<string[]> {
  if (filter === null) return [];
  const found = await Promise.all(
    keys.map((partition) => {
      const { project_id } = partition;
      const ids = far.filter((one) => one.project_id === project_id).map((one) => one.trace_id);
      const which = { roots_only, among: ids };
      return tracePartition(ctx.env, partition).matchTraces(filter, project_id, which);
    }),
  );
  return [...new Set(found.flat())];
}

function daysAround(day: string): string[] {
  const midnight = toMicros(`${day}T00:00:00Z`) ?? 0;
  return [dayOf(midnight - DAY_US), day, dayOf(midnight + DAY_US)];
}
