import type { Context } from "../../shared/context.ts";
import { nullIfNotFound } from "../../shared/errors.ts";
import { count, countUsage } from "../../shared/metrics/metrics.ts";
import { forgetProjects, type ProjectSettings, settingsOfProject } from "../catalogue/projects.ts";
import { isSampled, type Sampling } from "../catalogue/sampling.ts";
import type { AttachedFile, IncomingRun, RunChange, TraceTier } from "../changes.ts";
import { saveLocations } from "../locations/locations.ts";
import { storePayloads } from "../rows/payloads.ts";
import type { FarParent } from "../storage/far-parents.ts";
import { linkLaterDays } from "./later-days.ts";
import { traceOf } from "./lineage.ts";
import { type PlacedRun, placeRuns } from "./placement.ts";
import { redactRun } from "./redaction.ts";
import { writeChanges } from "./write-changes.ts";

/** Limits of one call to an object: runs, and characters of payloads. The last run may exceed the second one. */
const CALL_RUNS = 1000;
const CALL_CHARS = 8_000_000;

/**
 * Stores the runs that sampling keeps, durably before it returns. Idempotent.
 * @returns the runs that are not stored, because the workspace has no project of that id, or has deleted it
 */
export async function ingest(
  ctx: Context,
  runs: IncomingRun[],
  files: AttachedFile[] = [],
): Promise<PlacedRun[]> {
  const { found, lost } = await placeInProjects(ctx, runs);
  const placed = await sampleAndRedact(found);
  await saveLocations(
    ctx.env,
    ctx.caller.workspace_id,
    placed.flatMap(({ location }) => location ?? []),
  );
  const homes = Map.groupBy(placed, ({ home }) => `${home.project_id}/${home.day}`);
  const filesOf = Map.groupBy(files, ({ run_id }) => run_id);
  await Promise.all(
    [...homes.values()].map(async (group) => {
      const far = await writeGroup(ctx, group, filesOf);
      if (group[0]) await linkLaterDays(ctx, group[0].home, far);
    }),
  );
  count("heddle_ingestion_batches_total", {});
  count("heddle_ingestion_spans_total", {}, placed.length);
  const ingested_spans = placed.filter(({ run }) => run.kind === "post").length;
  countUsage(ctx.caller.workspace_id, "ingestion", { ingested_spans });
  return lost;
}

type RunInProject = { placed: PlacedRun; project: ProjectSettings };
type Placement = { found: RunInProject[]; lost: PlacedRun[] };

/** Places the runs. Creates a named project again when its cached id is that of a deleted one. */
async function placeInProjects(ctx: Context, runs: IncomingRun[]): Promise<Placement> {
  const first = await inProjects(ctx, await placeRuns(ctx, runs));
  if (first.lost.every(({ run }) => run.session_id !== null)) return first;
  forgetProjects(new Set(first.lost.map(({ home }) => home.project_id)));
  return inProjects(ctx, await placeRuns(ctx, runs));
}

async function inProjects(ctx: Context, runs: PlacedRun[]): Promise<Placement> {
  const ids = new Set(runs.map(({ home }) => home.project_id));
  const read = [...ids].map(
    async (id) => [id, await nullIfNotFound(settingsOfProject(ctx, id))] as const,
  );
  const settings = new Map(await Promise.all(read));
  const placement: Placement = { found: [], lost: [] };
  for (const placed of runs) {
    const project = settings.get(placed.home.project_id);
    if (project) placement.found.push({ placed, project });
    else placement.lost.push(placed);
  }
  return placement;
}

/** Drops the runs of traces that the sampling of their projects leaves out, and redacts the others. */
async function sampleAndRedact(runs: RunInProject[]): Promise<PlacedRun[]> {
  const kept: PlacedRun[] = [];
  for (const { placed, project } of runs) {
    const { sampling, redactions } = project;
    if (sampling !== null && !isKept(placed, sampling)) continue;
    const { run } = placed;
    kept.push(redactions === null ? placed : { ...placed, run: await redactRun(run, redactions) });
  }
  return kept;
}

/** Keeps a change of a stored run that does not name its trace: the trace was kept when the run was stored. */
function isKept({ run, is_stored }: PlacedRun, sampling: Sampling): boolean {
  const trace_id = traceOf(run);
  if (trace_id === null && is_stored) return true;
  return isSampled(sampling, trace_id ?? run.id, run.columns);
}

async function writeGroup(
  ctx: Context,
  group: PlacedRun[],
  filesOf: Map<string, AttachedFile[]>,
): Promise<FarParent[]> {
  const far: FarParent[] = [];
  const [first] = group;
  if (!first) return far;
  const { home } = first;
  const { tier: project_tier } = await settingsOfProject(ctx, home.project_id);
  for (const call of calls(group)) {
    const changes = await Promise.all(
      call.map(({ run }) => {
        const change = toChange(run, project_tier);
        return storePayloads(ctx.env, home.project_id, change, filesOf.get(run.id) ?? []);
      }),
    );
    far.push(...(await writeChanges(ctx, home, changes)));
  }
  return far;
}

/** Returns what the object needs of a run. */
function toChange(run: IncomingRun, project_tier: TraceTier): RunChange {
  const { id, kind, columns, payloads, digest, tags, span_ids } = run;
  const change: RunChange = { id, kind, columns, payloads, digest, project_tier };
  if (tags) change.tags = tags;
  if (span_ids) change.span_ids = span_ids;
  return change;
}

function* calls(group: PlacedRun[]): Generator<PlacedRun[]> {
  let call: PlacedRun[] = [];
  let chars = 0;
  for (const one of group) {
    call.push(one);
    for (const payload of Object.values(one.run.payloads)) {
      if ("text" in payload) chars += payload.text.length;
    }
    if (call.length < CALL_RUNS && chars < CALL_CHARS) continue;
    yield call;
    [call, chars] = [[], 0];
  }
  if (call.length > 0) yield call;
}
