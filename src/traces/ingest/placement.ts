import type { Context } from "../../shared/context.ts";
import { dayOf, nowMicros } from "../../shared/times.ts";
import { dayOfId, findPartitions } from "../catalogue/catalogue.ts";
import { projectByName } from "../catalogue/projects.ts";
import type { Home, IncomingRun } from "../changes.ts";
import { parseDottedOrder } from "../dotted-order.ts";
import { mayHave } from "../locations/generations.ts";
import { type Location, sharedId } from "../locations/location.ts";
import { findLocations } from "../locations/locations.ts";
import { tracePartition } from "../object/stub.ts";
import { traceOf } from "./lineage.ts";

export type PlacedRun = {
  run: IncomingRun;
  home: Home;
  /** Location to save. `null` when the id has the day, or when a lookup has found the run at its home. */
  location: Location | null;
  /** Whether a lookup has found the run. */
  is_stored: boolean;
};

/**
 * Finds the home of each run. A run that a lookup finds keeps its home, unless it names another project. Does not check
 * that projects with given ids are those of the workspace.
 */
export async function placeRuns(ctx: Context, runs: IncomingRun[]): Promise<PlacedRun[]> {
  const projectByTrace = projectsByTrace(runs);
  const days = startDaysById(runs);
  const moved = await findMovedSpans(ctx, runs, projectByTrace);
  const unresolved = runs.filter((run) =>
    run.span_ids === undefined
      ? !isDayInId(run, days) || !isProjectKnown(run, projectByTrace)
      : moved.has(run),
  );
  const traceById = new Map(unresolved.map((run) => [run.id, traceOf(run)]));
  const homes = await findHomes(ctx, unresolved, traceById);
  const orphans = unresolved.filter(
    (run) => !isProjectKnown(run, projectByTrace) && !homes.has(run.id),
  );
  const homeByTrace = await findHomes(
    ctx,
    orphans.flatMap(({ columns }) => (columns.trace_id ? [{ id: columns.trace_id }] : [])),
  );
  for (const [trace_id, { project_id }] of homeByTrace)
    projectByTrace.set(trace_id, `id:${project_id}`);
  const placed: PlacedRun[] = [];
  for (const run of runs) placed.push(await placeRun(ctx, run, { projectByTrace, days, homes }));
  return placed;
}

/**
 * Returns the spans that may be in another project already: their traces have runs there. A span
 * never changes its start, so it is on no other day.
 */
async function findMovedSpans(
  ctx: Context,
  runs: IncomingRun[],
  projectByTrace: Map<string, string>,
): Promise<Set<IncomingRun>> {
  const spans = runs.filter((run) => run.span_ids !== undefined && !namesProject(run));
  const located = await findLocations(ctx, spans.map(locatedId));
  const moved = new Set<IncomingRun>();
  for (const span of spans) {
    const homes = located.get(locatedId(span))?.homes ?? [];
    const project_id = await projectOf(ctx, span, projectByTrace);
    if (homes.some((home) => home.project_id !== project_id)) moved.add(span);
  }
  return moved;
}

/** Projects by trace, days and homes by run id. */
type RunHints = {
  projectByTrace: Map<string, string>;
  days: Map<string, string>;
  homes: Map<string, Home>;
};

async function placeRun(
  ctx: Context,
  run: IncomingRun,
  { projectByTrace, days, homes }: RunHints,
): Promise<PlacedRun> {
  const stored = homes.get(run.id);
  const is_stored = stored !== undefined;
  if (stored && !namesProject(run)) return { run, home: stored, location: null, is_stored };
  const project_id = await projectOf(ctx, run, projectByTrace);
  if (stored?.project_id === project_id) return { run, home: stored, location: null, is_stored };
  const day = dayOfRun(run, days) ?? dayOf(nowMicros());
  const home = { project_id, day };
  const location = dayOfId(run.id) === day ? null : { ...home, id: locatedId(run) };
  return { run, home, location, is_stored };
}

/** Spans of a trace share a location: their ids begin alike. */
function locatedId({ id, span_ids }: IncomingRun): string {
  return span_ids === undefined ? id : (sharedId(id) ?? id);
}

/** Returns homes by id: the only location of a run, else the partition that has the run. */
export async function findHomes(
  ctx: Context,
  runs: { id: string }[],
  traceById: Map<string, string | null> = new Map(),
): Promise<Map<string, Home>> {
  const ids = [...new Set(runs.map(({ id }) => id))];
  const located = await findLocations(ctx, ids);
  const homes = new Map<string, Home>();
  for (const [id, { homes: found, is_shared }] of located) {
    const [home, ...others] = found;
    if (home && others.length === 0 && !is_shared) homes.set(id, home);
  }
  const rest = ids.filter((id) => !homes.has(id) && (located.has(id) || dayOfId(id) !== null));
  if (rest.length === 0) return homes;
  await Promise.all(
    (await findPartitions(ctx, rest, located)).map(async ({ partition, ids: here }) => {
      const ids = here.filter((id) => mayHave(partition.slot, traceById.get(id) ?? null));
      if (ids.length === 0) return;
      const found = await tracePartition(ctx.env, partition).hasRuns(ids);
      for (const id of found)
        homes.set(id, { project_id: partition.project_id, day: partition.day });
    }),
  );
  return homes;
}

async function projectOf(
  ctx: Context,
  { session_id, session_name, columns }: IncomingRun,
  projectByTrace: Map<string, string>,
): Promise<string> {
  if (session_id !== null) return session_id;
  if (session_name !== null) return projectByName(ctx, session_name);
  const project = projectByTrace.get(columns.trace_id ?? "");
  if (project === undefined) return projectByName(ctx, null);
  return project.startsWith("id:") ? project.slice(3) : projectByName(ctx, project.slice(5));
}

/**
 * Maps traces to projects as `id:{id}` or `name:{name}`: a run that names no project goes to the project of its trace.
 */
function projectsByTrace(runs: IncomingRun[]): Map<string, string> {
  const projects = new Map<string, string>();
  for (const { columns, session_id, session_name } of runs) {
    if (columns.trace_id === undefined) continue;
    if (session_id !== null) projects.set(columns.trace_id, `id:${session_id}`);
    else if (session_name !== null) projects.set(columns.trace_id, `name:${session_name}`);
  }
  return projects;
}

/**
 * Whether the project needs no lookup. A POST without a project goes to the project of its trace, or to the default
 * one.
 */
function isProjectKnown(run: IncomingRun, projectByTrace: Map<string, string>): boolean {
  return namesProject(run) || projectByTrace.has(run.columns.trace_id ?? "") || run.kind === "post";
}

function namesProject({ session_id, session_name }: IncomingRun): boolean {
  return session_id !== null || session_name !== null;
}

/** Whether the run is known to start on the day in its id: false without a start in the request. */
function isDayInId({ id }: IncomingRun, days: Map<string, string>): boolean {
  const day = dayOfId(id);
  return day !== null && day === days.get(id);
}

/** Returns the day of the start time, else the day in the id: an id may be created on another day than its run. */
function dayOfRun({ id }: IncomingRun, days: Map<string, string>): string | null {
  return days.get(id) ?? dayOfId(id);
}

/** Maps runs to the days of their start times. A post wins over a patch of the same run. */
function startDaysById(runs: IncomingRun[]): Map<string, string> {
  const days = new Map<string, string>();
  for (const run of runs) {
    const start_us = startOf(run);
    if (start_us !== null && (run.kind === "post" || !days.has(run.id))) {
      days.set(run.id, dayOf(start_us));
    }
  }
  return days;
}

function startOf({ columns: { start_us, dotted_order } }: IncomingRun): number | null {
  if (start_us !== undefined) return start_us;
  return dotted_order === undefined ? null : (parseDottedOrder(dotted_order)?.start_us ?? null);
}
