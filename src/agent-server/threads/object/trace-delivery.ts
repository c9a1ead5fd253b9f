import { tracingProject } from "../../../control-plane/deployments/api/service.ts";
import { type Context, jobContext } from "../../../shared/context.ts";
import { AppError } from "../../../shared/errors.ts";
import { log } from "../../../shared/log.ts";
import { TtlCache } from "../../../shared/work/ttl-cache.ts";
import { ingestInternal } from "../../../traces/ingest/ingest-service.ts";
import { charactersOfRow, type TraceRow } from "../boundary/trace-texts.ts";
import type { ThreadHeader } from "../storage/thread-rows.ts";

/** Threads of one deployment in an isolate share a delivery: one call, one transaction of ingestion. */
const BATCH_MS = 200;
/** Interval at which the other threads poll the outcome. */
const POLL_MS = 100;
const MAX_BATCH_CHARACTERS = 8 * 1024 * 1024;
/** The object that delivers a batch may be evicted during its call. */
const INGEST_TIMEOUT_MS = 10_000;

/** Plain data: Durable Objects cannot await each other's promises. */
type DeliveryBatch = {
  rows: TraceRow[];
  characters: number;
  until: number;
  isClaimed: boolean;
  outcome: { error: unknown } | null;
};
const batches = new Map<string, DeliveryBatch>();

/** Resolves when the rows are durable. The thread that began the batch delivers it, or else the first that polls. */
export async function deliver(env: Env, thread: ThreadHeader, rows: TraceRow[]): Promise<void> {
  const { batch, isLeader } = joinBatch(thread.deployment_id, rows);
  await pause(batch.until + (isLeader ? 0 : POLL_MS) - Date.now());
  if (!batch.isClaimed) {
    batch.isClaimed = true;
    if (batches.get(thread.deployment_id) === batch) batches.delete(thread.deployment_id);
    const error = await ingest(env, thread, batch.rows).catch((error: unknown) => error);
    batch.outcome = { error };
  }
  while (batch.outcome === null) {
    if (Date.now() > batch.until + INGEST_TIMEOUT_MS)
      throw new Error("Traces: the delivery timed out");
    await pause(POLL_MS);
  }
  if (batch.outcome.error !== undefined) throw batch.outcome.error;
}

function joinBatch(deployment_id: string, rows: TraceRow[]) {
  const characters = rows.reduce((sum, row) => sum + charactersOfRow(row), 0);
  const open = batches.get(deployment_id);
  const isOpen = open && !open.isClaimed && Date.now() < open.until;
  if (isOpen && open.characters + characters <= MAX_BATCH_CHARACTERS) {
    open.rows.push(...rows);
    open.characters += characters;
    return { batch: open, isLeader: false };
  }
  const until = Date.now() + BATCH_MS;
  const batch = { rows: [...rows], characters, until, isClaimed: false, outcome: null };
  batches.set(deployment_id, batch);
  return { batch, isLeader: true };
}

async function ingest(env: Env, thread: ThreadHeader, page: TraceRow[]): Promise<void> {
  const { workspace_id, deployment_id } = thread;
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

/** Cached for a minute: deployments rarely change their project. */
const projects = new TtlCache<string>(60_000);

function projectOf(ctx: Context, deployment_id: string): Promise<string> {
  return projects.get(deployment_id, () => tracingProject(ctx, deployment_id));
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
