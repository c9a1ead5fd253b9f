import { ensureTracingProject } from "../../../control-plane/deployments/api/service.ts";
import { type Context, jobContext } from "../../../shared/context.ts";
import { AppError } from "../../../shared/errors.ts";
import { log } from "../../../shared/log.ts";
import { Batcher } from "../../../shared/work/batcher.ts";
import { TtlCache } from "../../../shared/work/ttl-cache.ts";
import { ingestInternal } from "../../../traces/ingest/ingest-service.ts";
import { enqueueTraceExports } from "../../webhooks/trace-export.ts";
import { charactersOfRow, type TraceRow } from "./boundary/trace-texts.ts";
import type { ThreadHeader } from "./storage/thread-rows.ts";

type ThreadTrace = TraceRow & { thread_id: string };

/** Threads of one deployment in an isolate share a delivery, and so the transactions of ingestion. */
const batcher = new Batcher<ThreadTrace>({
  window_ms: 200,
  poll_ms: 100,
  timeout_ms: 10_000,
  max_size: 8 * 1024 * 1024,
});

/** Resolves when the rows are durable, or dropped because their deployment was deleted. */
export function deliver(env: Env, thread: ThreadHeader, rows: TraceRow[]): Promise<void> {
  const characters = rows.reduce((sum, row) => sum + charactersOfRow(row), 0);
  const { deployment_id, thread_id } = thread;
  const traces = rows.map((row) => ({ ...row, thread_id }));
  return batcher.add(deployment_id, traces, characters, (all) => ingest(env, thread, all));
}

async function ingest(
  env: Env,
  { workspace_id, deployment_id }: ThreadHeader,
  page: ThreadTrace[],
): Promise<void> {
  const ctx = jobContext(env, workspace_id, "traces");
  try {
    const ended = await store(ctx, deployment_id, page);
    const traces = [...ended].map(([trace_id, { thread_id }]) => ({ trace_id, thread_id }));
    await enqueueTraceExports(env, { workspace_id, deployment_id }, traces);
  } catch (error) {
    const { code } = AppError.from(error);
    // The deployment was deleted: a retry would fail again.
    if (code !== "not_found") throw error;
    log.warn("traces_dropped", { deployment_id, error: String(error) });
  }
}

/** Stores the rows, in a new project if that of the deployment was deleted. @returns the rows of ended roots */
async function store(
  ctx: Context,
  deployment_id: string,
  page: ThreadTrace[],
): Promise<Map<string, ThreadTrace>> {
  const { ended, lost } = await ingestInternal(ctx, await projectOf(ctx, deployment_id), page);
  if (lost.length === 0) return ended;
  projects.forget((id) => id === deployment_id);
  const again = await ingestInternal(ctx, await projectOf(ctx, deployment_id), lost);
  if (again.lost.length === 0) return ended;
  throw new AppError(
    "unavailable",
    "The project of the traces was deleted while they were stored.",
  );
}

/** Cached for a minute: deployments rarely change their project. */
const projects = new TtlCache<string>(60_000);

function projectOf(ctx: Context, deployment_id: string): Promise<string> {
  return projects.get(deployment_id, () => ensureTracingProject(ctx, deployment_id));
}

/** Delivers traces of a deleted thread, whose outbox is gone. Drops them after the last retry. */
export async function deliverOrphans(
  env: Env,
  header: ThreadHeader,
  traces: TraceRow[],
  retries = 2,
): Promise<void> {
  try {
    await deliver(env, header, traces);
  } catch (error) {
    if (retries > 0) return deliverOrphans(env, header, traces, retries - 1);
    log.error("traces_not_delivered", error);
  }
}
