import type { Context } from "../shared/context.ts";
import { candidates, dayOfId, findLocations, type Home, type Location } from "./catalogue.ts";
import type { IncomingRun } from "./changes.ts";
import { parseDottedOrder } from "./dotted-order.ts";
import { knownProject, projectNamed } from "./projects.ts";
import { tracePartition } from "./stub.ts";
import { dayOf, nowMicros } from "./times.ts";

export type PlacedRun = { run: IncomingRun; home: Home; location: Location | null };

/** Where each run is or will be. A run that was seen before stays where it is. */
export async function placeRuns(ctx: Context, runs: IncomingRun[]): Promise<PlacedRun[]> {
  const mates = sessionsOfTraces(runs);
  const unsure = runs.filter((run) => !tellsDay(run) || !namesProject(run, mates));
  const known = await findHomes(ctx, unsure);
  const placed: PlacedRun[] = [];
  for (const run of runs) placed.push(await placeRun(ctx, run, mates, known));
  return placed;
}

async function placeRun(
  ctx: Context,
  run: IncomingRun,
  mates: Map<string, string>,
  known: Map<string, Home>,
): Promise<PlacedRun> {
  const before = known.get(run.id);
  if (before && !namesProject(run, mates)) return { run, home: before, location: null };
  const project_id = await projectOf(ctx, run, mates);
  if (before?.project_id === project_id) return { run, home: before, location: null };
  const day = wantedDay(run) ?? dayOf(nowMicros());
  const home = { project_id, day };
  const location = dayOfId(run.id) === day ? null : { ...home, run_id: run.id };
  return { run, home, location };
}

/** Runs that are there already: their homes, by id. */
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

/** A run that names no project belongs where the rest of its trace goes. */
function sessionsOfTraces(runs: IncomingRun[]): Map<string, string> {
  const sessions = new Map<string, string>();
  for (const { columns, session_id, session_name } of runs) {
    if (columns.trace_id === undefined) continue;
    if (session_id !== null) sessions.set(columns.trace_id, `id:${session_id}`);
    else if (session_name !== null) sessions.set(columns.trace_id, `name:${session_name}`);
  }
  return sessions;
}

function namesProject(
  { kind, session_id, session_name, columns }: IncomingRun,
  mates: Map<string, string>,
): boolean {
  if (session_id !== null || session_name !== null) return true;
  return mates.has(columns.trace_id ?? "") || kind === "post";
}

/** The day of the id is the day of the run: no other run could be elsewhere. */
function tellsDay(run: IncomingRun): boolean {
  const day = dayOfId(run.id);
  return day !== null && day === wantedDay(run);
}

/** A patch may be late: what it says itself of the run's start goes before what its id says. */
function wantedDay({ id, columns }: IncomingRun): string | null {
  const { start_us, dotted_order } = columns;
  if (start_us !== undefined) return dayOf(start_us);
  const lineage = dotted_order === undefined ? null : parseDottedOrder(dotted_order);
  return lineage === null ? dayOfId(id) : dayOf(lineage.start_us);
}
