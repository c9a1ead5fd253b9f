import { and, eq, isNull, ne, or, sql } from "drizzle-orm";
import { alias } from "drizzle-orm/sqlite-core";
import { RecordCache } from "../../shared/changes/record-cache.ts";
import { type Context, database } from "../../shared/context.ts";
import { AppError, notFound } from "../../shared/errors.ts";
import { type DeploymentRow, findRevisions, type RevisionRow } from "./rows.ts";
import { deployments, revisions } from "./table.ts";
import { chooseShare, type Traffic } from "./traffic.ts";

export type ActiveRevision = {
  deployment_id: string;
  workspace_id: string;
  revision_id: string;
  secrets_version: number;
  name: string;
  graphs: string[];
  descriptors: unknown;
  /** The whole langgraph.json. */
  config: Record<string, unknown> | null;
  config_env: Record<string, string> | null;
};

/** `characters`: length of the JSON of all revisions, for the limit of the cache. */
type Serving = {
  active: ActiveRevision;
  split: (ActiveRevision & { percent: number })[];
  characters: number;
};

const serving = new RecordCache<Serving>({
  // After a change, other isolates start runs on the previous revision for up to a second longer than this.
  max_age_ms: 1000,
  max_outage_ms: 10 * 60 * 1000,
  scopeOf: ({ active }) => active.deployment_id,
  sizeOf: ({ characters }) => characters,
});
const RETRY_AFTER_SECONDS = 2;

/**
 * Finds the revision that serves a thread of a deployment of the caller's workspace. Cached.
 * @param ref `{id}` or `{slug}` of the deployment, either with `@{revision_id}`
 * @throws AppError 404 without such a deployment or revision, 503 when it does not serve
 */
export async function findActive(
  ctx: Context,
  ref: string,
  thread_id: string | null,
): Promise<ActiveRevision> {
  const { workspace_id } = ctx.caller;
  const served = await findServing(ctx, ref);
  const isOurs = served?.active.workspace_id === workspace_id;
  return chooseFor(isOurs ? served : await readServing(ctx, ref, workspace_id), thread_id);
}

function chooseFor({ active, split }: Serving, thread_id: string | null): ActiveRevision {
  if (split.length === 0 || thread_id === null) return active;
  const { percent: _, ...chosen } = chooseShare(split, thread_id) ?? { ...active, percent: 0 };
  return chosen;
}

/**
 * Finds the revision that serves a deployment's URL in any workspace, before the caller is known. Cached.
 * @returns `null` when nothing serves
 */
export async function findServed(
  env: Env,
  ref: string,
  thread_id: string | null,
): Promise<ActiveRevision | null> {
  const found = await findServing({ env, db: database(env) }, ref);
  return found && chooseFor(found, thread_id);
}

/** Returns whether the cache of this isolate has the revision of a reference. */
export function isKnownToServe(ref: string): boolean {
  return serving.has(ref);
}

async function findServing(ctx: Pick<Context, "env" | "db">, ref: string): Promise<Serving | null> {
  try {
    return await serving.get(ctx.env, ref, () => readServing(ctx, ref, null));
  } catch (error) {
    // Only callers of its workspace may learn why a deployment does not serve.
    if (error instanceof AppError) return null;
    throw error;
  }
}

/** Writes that change the serving revision call this, in the isolate where they happen. */
export function forgetActive(deployment_id: string): void {
  serving.forget((_key, { scope }) => scope === deployment_id);
}

const active = alias(revisions, "active");
const latest = alias(revisions, "latest");

type Reader = Pick<Context, "db">;

async function readServing(
  ctx: Reader,
  ref: string,
  workspace_id: string | null,
): Promise<Serving> {
  const [deployment_id = "", revision_id] = ref.split("@");
  const [row] = await ctx.db
    .select({
      deployment: deployments,
      active: {
        id: active.id,
        status: active.status,
        graphs: active.graphs,
        descriptors: active.descriptors,
        config: active.config,
        config_env: active.config_env,
        characters: sql<number>`ifnull(length(${active.descriptors}), 0) + ifnull(length(${active.config}), 0) + ifnull(length(${active.config_env}), 0)`,
      },
      latest: {
        id: latest.id,
        status: latest.status,
        status_reason: latest.status_reason,
        status_message: latest.status_message,
      },
    })
    .from(deployments)
    .leftJoin(active, isServing(revision_id))
    .leftJoin(latest, eq(latest.id, deployments.latest_revision_id))
    .where(
      and(
        workspace_id === null ? undefined : eq(deployments.workspace_id, workspace_id),
        or(eq(deployments.id, deployment_id), eq(deployments.slug, deployment_id)),
        ne(deployments.status, "AWAITING_DELETE"),
      ),
    );
  if (!row) throw notFound("Deployment", deployment_id);
  const { deployment } = row;
  if (revision_id === undefined && !row.active) throw notDeployed(deployment.name, row.latest);
  if (!row.active) throw notFound("Revision", revision_id ?? "");
  if (row.active.status !== "DEPLOYED") throw notBuilt(row.active);
  const traffic = revision_id === undefined ? deployment.traffic : null;
  const split = traffic ? await readSplit(ctx, deployment, traffic) : [];
  return {
    active: toActive(deployment, row.active),
    split: split.map(({ revision }) => revision),
    characters: split.reduce((sum, { characters }) => sum + characters, row.active.characters),
  };
}

function isServing(revision_id: string | undefined) {
  if (revision_id === undefined) return eq(active.id, deployments.active_revision_id);
  return and(
    eq(active.id, revision_id),
    eq(active.deployment_id, deployments.id),
    isNull(active.deleted_at),
  );
}

async function readSplit(ctx: Reader, deployment: DeploymentRow, traffic: Traffic) {
  const ids = traffic.map(({ revision_id }) => revision_id);
  const rows = await findRevisions({ ...ctx, caller: deployment }, deployment.id, ids);
  return traffic.flatMap(({ revision_id, percent }) => {
    const row = rows.find(({ id }) => id === revision_id);
    if (row === undefined) return [];
    const { descriptors, config, config_env } = row;
    const characters = JSON.stringify([descriptors, config, config_env]).length;
    return [{ revision: { ...toActive(deployment, row), percent }, characters }];
  });
}

type BuiltRevision = Pick<RevisionRow, "id" | "graphs" | "descriptors" | "config" | "config_env">;

function toActive(deployment: DeploymentRow, revision: BuiltRevision): ActiveRevision {
  return {
    deployment_id: deployment.id,
    workspace_id: deployment.workspace_id,
    revision_id: revision.id,
    secrets_version: deployment.secrets_version,
    name: deployment.name,
    graphs: revision.graphs ?? [],
    descriptors: revision.descriptors,
    config: revision.config,
    config_env: revision.config_env,
  };
}

function notBuilt({ id, status }: Pick<RevisionRow, "id" | "status">): AppError {
  return new AppError(
    "unavailable",
    `Revision ${id} has the status ${status}: only a DEPLOYED revision serves requests.`,
    {
      retry_after_seconds: RETRY_AFTER_SECONDS,
    },
  );
}

type Latest = Pick<
  typeof revisions.$inferSelect,
  "id" | "status" | "status_reason" | "status_message"
>;

function notDeployed(name: string, latest: Latest | null): AppError {
  return new AppError(
    "unavailable",
    `Deployment ${name} has no deployed revision: ${describe(latest)}`,
    {
      retry_after_seconds: RETRY_AFTER_SECONDS,
    },
  );
}

function describe(latest: Latest | null): string {
  if (latest === null) return "create a revision, or set source_revision_config.";
  const why = latest.status_message === null ? "" : ` ${latest.status_message}`;
  const reason = latest.status_reason === null ? "" : ` (${latest.status_reason})`;
  return `its latest revision ${latest.id} is ${latest.status}${reason}.${why}`;
}
