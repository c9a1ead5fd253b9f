import { tracingProject } from "../../../control-plane/deployments/api/service.ts";
import { type Context, jobContext } from "../../../shared/context.ts";
import { AppError } from "../../../shared/errors.ts";
import { log } from "../../../shared/log.ts";
import { TtlCache } from "../../../shared/work/ttl-cache.ts";
import { ingestInternal } from "../../../traces/ingest/ingest-service.ts";
import { charactersOfRow, type TraceRow } from "../boundary/trace-texts.ts";
import type { ThreadStore } from "../storage/store.ts";
import type { ThreadHeader } from "../storage/thread-rows.ts";

/** Hands a thread's traces to ingestion, page after page; what is durable there is removed here. */
export async function deliverTraces(env: Env, store: ThreadStore): Promise<void> {
  while (store.exists && store.traces.areWaiting) {
    const page = store.traces.page();
    await deliver(env, store.thread.header(), page.rows);
    if (store.exists) store.transaction(() => store.traces.remove(page));
  }
}

/** Threads that share an isolate and a deployment deliver together: one call to ingestion, one transaction there. */
const GATHER_MS = 200;
/** How often those that did not hand it over look whether it is done. */
const LOOK_MS = 100;
/** A page of a thread fits whatever else is gathered. */
const GATHERED_CHARACTERS = 8 * 1024 * 1024;
/** Whoever hands it over may go away meanwhile, and its call with it. */
const HANDED_WITHIN_MS = 10_000;

/** Plain data: a promise of one object cannot be awaited in another. */
type Gathering = {
  rows: TraceRow[];
  characters: number;
  until: number;
  isHandedOver: boolean;
  outcome: { error: unknown } | null;
};
const gatherings = new Map<string, Gathering>();

/** Resolves when these are durable. Who began hands over what came to it meanwhile, or else who looks first. */
export async function deliver(env: Env, place: ThreadHeader, rows: TraceRow[]): Promise<void> {
  const { gathering, hasBegun } = gather(place.deployment_id, rows);
  await pause(gathering.until + (hasBegun ? 0 : LOOK_MS) - Date.now());
  if (!gathering.isHandedOver) {
    gathering.isHandedOver = true;
    if (gatherings.get(place.deployment_id) === gathering) gatherings.delete(place.deployment_id);
    const error = await hand(env, place, gathering.rows).catch((error: unknown) => error);
    gathering.outcome = { error };
  }
  while (gathering.outcome === null) {
    if (Date.now() > gathering.until + HANDED_WITHIN_MS)
      throw new Error("Traces: no answer in time");
    await pause(LOOK_MS);
  }
  if (gathering.outcome.error !== undefined) throw gathering.outcome.error;
}

function gather(deployment_id: string, rows: TraceRow[]) {
  const characters = rows.reduce((sum, row) => sum + charactersOfRow(row), 0);
  const open = gatherings.get(deployment_id);
  const isOpen = open && !open.isHandedOver && Date.now() < open.until;
  if (isOpen && open.characters + characters <= GATHERED_CHARACTERS) {
    open.rows.push(...rows);
    open.characters += characters;
    return { gathering: open, hasBegun: false };
  }
  const until = Date.now() + GATHER_MS;
  const gathering = { rows: [...rows], characters, until, isHandedOver: false, outcome: null };
  gatherings.set(deployment_id, gathering);
  return { gathering, hasBegun: true };
}

async function hand(env: Env, place: ThreadHeader, page: TraceRow[]): Promise<void> {
  const { workspace_id, deployment_id } = place;
  const ctx = jobContext(env, workspace_id, "traces");
  try {
    const project_id = await projectOf(ctx, deployment_id);
    await ingestInternal(ctx, project_id, page);
  } catch (error) {
    const { code } = AppError.from(error) ?? {};
    if (code !== "not_found") throw error;
    log.warn("traces_dropped", { deployment_id, error: String(error) });
  }
}

/** A deployment keeps its project; how long a change of that may go unseen. */
const projects = new TtlCache<string>(60_000);

function projectOf(ctx: Context, deployment_id: string): Promise<string> {
  return projects.get(deployment_id, () => tracingProject(ctx, deployment_id));
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
