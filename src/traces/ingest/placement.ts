import type { Context } from "../../shared/context.ts";
import { dayOf, nowMicros } from "../../shared/times.ts";
import type { IncomingRun } from "../changes.ts";
import { parseDottedOrder } from "../dotted-order.ts";
import {
  candidates,
  dayOfId,
  findLocations,
  type Home,
  type Location,
} from "../object/catalogue.ts";
import { knownProject, projectNamed } from "../object/projects.ts";
import { tracePartition } from "../object/stub.ts";

export type PlacedRun = { run: IncomingRun; home: Home; location: Location | null };

/** Finds the home of each run. A known run keeps its home. */
export async function placeRuns(ctx: Context, runs: IncomingRun[]): Promise<PlacedRun[]> {
  const mates = sessionsOfTraces(runs);
  const days = startDays(runs);
  const unsure = runs.filter((run) => !tellsDay(run, days) || !namesProject(run, mates));
  const known = await findHomes(ctx, unsure);
  const lost = unsure.filter((run) => !namesProject(run, mates) && !known.has(run.id));
  const traces = await findHomes(
    ctx,
    lost.flatMap(({ columns }) => (columns.trace_id ? [{ id: columns.trace_id }] : [])),
  );
  for (const [trace_id, { project_id }] of traces) mates.set(trace_id, `id:${project_id}`);
  const placed: PlacedRun[] = [];
  for (const run of runs) placed.push(await placeRun(ctx, run, { mates, days, known }));
  return placed;
}

/** Projects by trace, days and homes by run id. */
type Told = { mates: Map<string, string>; days: Map<string, string>; known: Map<string, Home> };

async function placeRun(
  ctx: Context,
  run: IncomingRun,
  { mates, days, known }: Told,
): Promise<PlacedRun> {
  const before = known.get(run.id);
  if (before && !saysProject(run)) return { run, home: before, location: null };
  const project_id = await projectOf(ctx, run, mates);
  if (before?.project_id === project_id) return { run, home: before, location: null };
  const day = wantedDay(run, days) ?? dayOf(nowMicros());
  const home = { project_id, day };
  const location = dayOfId(run.id) === day ? null : { ...home, run_id: run.id };
  return { run, home, location };
}

/** Returns the homes of stored runs by id. */
export async function findHomes(ctx: Context, runs: { id: string }[]): Promise<Map<string, Home>> {
  const ids = [...new Set(runs.map(({ id }) => id))];
  const homes = await findLocations(ctx, ids);
  const rest = ids.filter((id) => !homes.has(id) && dayOfId(id) !== null);
  if (rest.length === 0) return homes;
  const asked = await candidates(ctx, rest);
  await Promise.all(
    asked.map(async ({ place, ids: here }) => {
      const found = await tracePartition(ctx.env, place).hasRuns(here);
      for (const id of found) homes.set(id, { project_id: place.project_id, day: place.day });
    }),
  );
  return homes;
}

function projectOf(
  ctx: Context,
  { session_id, session_name, columns }: IncomingRun,
  mates: Map<string, string>,
): Promise<string> {
  if (session_id !== null) return knownProject(ctx, session_id);
  if (session_name !== null) return projectNamed(ctx, session_name);
  const mate = mates.get(columns.trace_id ?? "");
  if (mate === undefined) return projectNamed(ctx, null);
  return mate.startsWith("id:")
    ? knownProject(ctx, mate.slice(3))
    : projectNamed(ctx, mate.slice(5));
}

/** Maps traces to projects: a run that names no project belongs to its trace's. */
function sessionsOfTraces(runs: IncomingRun[]): Map<string, string> {
  const sessions = new Map<string, string>();
  for (const { columns, session_id, session_name } of runs) {
    if (columns.trace_id === undefined) continue;
    if (session_id !== null) sessions.set(columns.trace_id, `id:${session_id}`);
    else if (session_name !== null) sessions.set(columns.trace_id, `name:${session_name}`);
  }
  return sessions;
}

function namesProject(run: IncomingRun, mates: Map<string, string>): boolean {
  return saysProject(run) || mates.has(run.columns.trace_id ?? "") || run.kind === "post";
}

function saysProject({ session_id, session_name }: IncomingRun): boolean {
  return session_id !== null || session_name !== null;
}

/** Whether the id contains the run's day, so that the run has no other home. */
function tellsDay(run: IncomingRun, days: Map<string, string>): boolean {
  const day = dayOfId(run.id);
  return day !== null && day === wantedDay(run, days);
}

/** Prefers the day of the start time to the day in the id: a patch may be late. */
function wantedDay({ id }: IncomingRun, days: Map<string, string>): string | null {
  return days.get(id) ?? dayOfId(id);
}

/** Maps runs to the days of their start times. A post wins over a patch of the same run. */
function startDays(runs: IncomingRun[]): Map<string, string> {
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
