import type { Context } from "../../shared/context.ts";
import { DAY_US, dayOf, toMicros } from "../../shared/times.ts";
import { compileFilter } from "../filter/compile.ts";
import type { Filter } from "../filter/tree.ts";
import { placesOn } from "../object/catalogue.ts";
import type { Place } from "../object/object.ts";
import { tracePartition } from "../object/stub.ts";
import type { RangedPlace } from "./scope.ts";

export type Filters = Record<"filter" | "trace_filter" | "tree_filter", Filter | null>;
export type FarMatches = { trace: string[]; tree: string[] };

type Far = { project_id: string; root_day: string; trace_id: string };

/**
 * Matches traces that span partitions. Reads the days beside the group and the days of the roots.
 */
export async function matchFarTraces(
  ctx: Context,
  group: RangedPlace[],
  { trace_filter, tree_filter }: Filters,
): Promise<FarMatches> {
  if (trace_filter === null && tree_filter === null) return { trace: [], tree: [] };
  const ours = new Set(group.map(({ place }) => place.project_id));
  const placesOf = async (days: string[]) =>
    (await placesOn(ctx, [...new Set(days)])).filter(({ project_id }) => ours.has(project_id));
  const near = await placesOf(group.flatMap(({ place }) => daysAround(place.day)));
  const far = (await Promise.all(near.map((place) => farOf(ctx, place)))).flat();
  if (far.length === 0) return { trace: [], tree: [] };
  const roots = far.map(({ root_day }) => root_day);
  const places = await placesOf([...near.map(({ day }) => day), ...roots]);
  const [trace, tree] = await Promise.all([
    match(ctx, places, far, trace_filter, true),
    match(ctx, places, far, tree_filter, false),
  ]);
  return { trace, tree };
}

async function farOf(ctx: Context, place: Place): Promise<Far[]> {
  const traces = await tracePartition(ctx.env, place).getFarTraces();
  return traces.map((trace) => ({ ...trace, project_id: place.project_id }));
}

async function match(
  ctx: Context,
  places: Place[],
  far: Far[],
  filter: Filter | null,
  roots_only: boolean,
): Promise<string[]> {
  if (filter === null) return [];
  const found = await Promise.all(
    places.map((place) => {
      const { project_id } = place;
      const ids = far.filter((one) => one.project_id === project_id).map((one) => one.trace_id);
      const compiled = compileFilter(filter, { session_id: project_id });
      return tracePartition(ctx.env, place).matchTraces(ids, compiled, roots_only);
    }),
  );
  return [...new Set(found.flat())];
}

function daysAround(day: string): string[] {
  const midnight = toMicros(`${day}T00:00:00Z`) ?? 0;
  return [dayOf(midnight - DAY_US), day, dayOf(midnight + DAY_US)];
}
