import { tracingProject } from "../deployments/service.ts";
import { type Context, contextFor } from "../shared/context.ts";
import { AppError } from "../shared/errors.ts";
import { log } from "../shared/log.ts";
import { ingestOwn } from "../traces/ingest-service.ts";
import type { ThreadStore } from "./storage/store.ts";
import type { ThreadPlace } from "./storage/thread-rows.ts";
import type { TraceRow } from "./storage/traces.ts";

/** Hands a thread's traces to ingestion, page after page; what is durable there is removed here. */
export async function deliverTraces(env: Env, store: ThreadStore): Promise<void> {
  while (store.exists && store.traces.areWaiting) {
    const page = store.traces.page();
    await deliver(env, store.thread.place(), page.rows);
    if (store.exists) store.transaction(() => store.traces.remove(page));
  }
}

export async function deliver(env: Env, place: ThreadPlace, page: TraceRow[]): Promise<void> {
  const { workspace_id, deployment_id } = place;
  const ctx = contextFor(env, {
    organization_id: "",
    workspace_id,
    role: "editor",
    plan: "developer",
    actor: { type: "system", job: "traces" },
  });
  try {
    const project_id = await projectOf(ctx, deployment_id);
    await ingestOwn(ctx, project_id, page);
  } catch (error) {
    const { code } = AppError.from(error) ?? {};
    if (code !== "not_found") throw error;
    log.warn("traces_dropped", { deployment_id, error: String(error) });
  }
}

/** A deployment keeps its project; how long a change of that may go unseen. */
const REMEMBERED_MS = 60_000;
const MAX_REMEMBERED = 1000;
const remembered = new Map<string, { project_id: string; until: number }>();

async function projectOf(ctx: Context, deployment_id: string): Promise<string> {
  const known = remembered.get(deployment_id);
  if (known && known.until > Date.now()) return known.project_id;
  const project_id = await tracingProject(ctx, deployment_id);
  if (remembered.size >= MAX_REMEMBERED) remembered.clear();
  remembered.set(deployment_id, { project_id, until: Date.now() + REMEMBERED_MS });
  return project_id;
}
