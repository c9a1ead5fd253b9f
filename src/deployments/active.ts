import { and, eq, ne, or } from "drizzle-orm";
import { alias } from "drizzle-orm/sqlite-core";
import type { Context } from "../shared/context.ts";
import { AppError, notFound } from "../shared/errors.ts";
import { deployments, revisions } from "./table.ts";

export type ActiveRevision = {
  deployment_id: string;
  workspace_id: string;
  revision_id: string;
  secrets_version: number;
  name: string;
  graphs: string[];
  descriptors: unknown;
};

type Cached = { active: ActiveRevision; until: number };

/** How long another isolate of the Worker may still start runs on the revision before. */
const CACHE_MS = 1000;
const CACHE_ENTRIES = 1000;
const RETRY_AFTER_SECONDS = 2;

const cache = new Map<string, Cached>();

/** The revision that serves a deployment of the caller's workspace, named by its id or its slug. */
export async function findActive(ctx: Context, deployment_id: string): Promise<ActiveRevision> {
  const key = `${ctx.caller.workspace_id}/${deployment_id}`;
  const hit = cache.get(key);
  if (hit && hit.until > Date.now()) return hit.active;
  const active = await readActive(ctx, deployment_id);
  if (cache.size >= CACHE_ENTRIES) cache.clear();
  cache.set(key, { active, until: Date.now() + CACHE_MS });
  return active;
}

/** Every write that changes what serves a deployment calls this, in the isolate where it happens. */
export function forgetActive(deployment_id: string): void {
  for (const [key, { active }] of cache) {
    if (active.deployment_id === deployment_id) cache.delete(key);
  }
}

const active = alias(revisions, "active");
const latest = alias(revisions, "latest");

async function readActive(ctx: Context, deployment_id: string): Promise<ActiveRevision> {
  const [row] = await ctx.db
    .select({
      id: deployments.id,
      name: deployments.name,
      secrets_version: deployments.secrets_version,
      active: { id: active.id, graphs: active.graphs, descriptors: active.descriptors },
      latest: {
        id: latest.id,
        status: latest.status,
        status_reason: latest.status_reason,
        status_message: latest.status_message,
      },
    })
    .from(deployments)
    .leftJoin(active, eq(active.id, deployments.active_revision_id))
    .leftJoin(latest, eq(latest.id, deployments.latest_revision_id))
    .where(
      and(
        eq(deployments.workspace_id, ctx.caller.workspace_id),
        or(eq(deployments.id, deployment_id), eq(deployments.slug, deployment_id)),
        ne(deployments.status, "AWAITING_DELETE"),
      ),
    );
  if (!row) throw notFound("Deployment", deployment_id);
  if (!row.active) throw notDeployed(row.name, row.latest);
  return {
    deployment_id: row.id,
    workspace_id: ctx.caller.workspace_id,
    revision_id: row.active.id,
    secrets_version: row.secrets_version,
    name: row.name,
    graphs: row.active.graphs ?? [],
    descriptors: row.active.descriptors,
  };
}

type Latest = Pick<
  typeof revisions.$inferSelect,
  "id" | "status" | "status_reason" | "status_message"
>;

function notDeployed(name: string, latest: Latest | null): AppError {
  return new AppError("unavailable", `Deployment ${name} does not serve yet: ${describe(latest)}`, {
    retry_after_seconds: RETRY_AFTER_SECONDS,
  });
}

function describe(latest: Latest | null): string {
  if (latest === null) return "it has no revision; give it a source_revision_config.";
  const why = latest.status_message === null ? "" : ` ${latest.status_message}`;
  const reason = latest.status_reason === null ? "" : ` (${latest.status_reason})`;
  return `its latest revision ${latest.id} is ${latest.status}${reason}.${why}`;
}
