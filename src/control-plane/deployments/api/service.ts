import { and, eq, sql } from "drizzle-orm";
import { assertMay } from "../../../shared/auth.ts";
import type { Context } from "../../../shared/context.ts";
import { assertReachable } from "../../../shared/egress/egress.ts";
import { AppError, notFound, nullIfNotFound } from "../../../shared/errors.ts";
import { log } from "../../../shared/log.ts";
import { newId } from "../../../shared/storage/ids.ts";
import { inWorkspace, isUniqueViolation, ownRow } from "../../../shared/storage/sql.ts";
import { assertProject, createProject, deleteProject } from "../../../traces/projects/service.ts";
import { assertStorageQuota } from "../../quotas/quota-service.ts";
import { clientOf } from "../../workspaces/session/session-service.ts";
import { type ActiveRevision, findActive, findServed, forgetActive } from "../active.ts";
import { toDeployment } from "../answers.ts";
import { assertIntegration } from "../git/integration-service.ts";
import { sendBuilds, sendDeletions } from "../queue.ts";
import { statusesBefore } from "../revisions.ts";
import { type DeploymentRow, findDeployment, insertRevision, selectDeployments } from "../rows.ts";
import type { Deployment, DeploymentCreateRequest, DeploymentDeleteQuery } from "../schema.ts";
import { assertSecrets } from "../secret-rules.ts";
import { writeSecrets } from "../secrets.ts";
import { canBuild, toNewSource } from "../sources.ts";
import { inStatus } from "../sql.ts";
import { deployments, revisions } from "../table.ts";
import { assertUploadPlan } from "../uploads/uploads.ts";

export type { ActiveRevision };

/**
 * Returns the revision that serves a thread of a deployment of the caller's workspace.
 * @param ref `{id}` or `{slug}` of the deployment, either with `@{revision_id}`
 * @throws AppError 404 without such a deployment or revision, 503 when it does not serve
 */
export function activeRevision(
  ctx: Context,
  ref: string,
  thread_id: string | null = null,
): Promise<ActiveRevision> {
  return findActive(ctx, ref, thread_id);
}

/** Like activeRevision, before the caller is known. @returns `null` when nothing serves */
export function servedRevision(
  env: Env,
  ref: string,
  thread_id: string | null = null,
): Promise<ActiveRevision | null> {
  return findServed(env, ref, thread_id);
}

/**
 * Returns the id of the project for the traces of a deployment. The first call creates the project: `createDeployment`
 * makes it, or the first trace if that failed. A project that was deleted is replaced.
 * @throws AppError 404 when the workspace has no such deployment
 */
export async function ensureTracingProject(ctx: Context, deployment_id: string): Promise<string> {
  const { name, tracing_project_id: known } = await findDeployment(ctx, deployment_id);
  if (known !== null && (await hasProject(ctx, known))) return known;
  const { id } = await createProject(ctx, { name }, true);
  const isUnchanged = sql`${deployments.tracing_project_id} IS ${known}`;
  await ctx.db
    .update(deployments)
    .set({ tracing_project_id: id })
    .where(and(ownRow(ctx, deployments, deployment_id), isUnchanged));
  return id;
}

async function hasProject(ctx: Context, project_id: string): Promise<boolean> {
  const exists = assertProject(ctx, project_id).then(() => true);
  return (await nullIfNotFound(exists)) ?? false;
}

export async function createDeployment(
  ctx: Context,
  input: DeploymentCreateRequest,
  origin: string,
): Promise<Deployment> {
  assertMay(ctx, "write");
  assertSecrets(input.secrets);
  const parts = toNewSource(input);
  if (parts.source === "internal_source") assertUploadPlan(ctx.caller);
  const { repo_url } = parts.source_config;
  assertReachable(ctx.env, "builds", { repo_url }, ["body", "source_config"]);
  await assertIntegration(ctx, parts.source_config);
  const [id, revision_id, now] = [newId(), newId(), new Date().toISOString()];
  const isBuilt = canBuild(parts.source, parts.source_revision_config);
  if (isBuilt) await assertStorageQuota(ctx);
  const row: DeploymentRow = {
    id,
    workspace_id: ctx.caller.workspace_id,
    name: input.name,
    display_name: null,
    slug: toSlug(input.name),
    ...parts,
    status: "READY",
    latest_revision_id: isBuilt ? revision_id : null,
    active_revision_id: null,
    secrets_version: 1,
    tracing_project_id: null,
    traffic: null,
    created_at: now,
    updated_at: now,
  };
  try {
    await ctx.db.batch([
      ctx.db.insert(deployments).values(row),
      ...(isBuilt
        ? [insertRevision(ctx, row, revision_id, { now, trigger: clientOf(ctx.caller) })]
        : []),
      ...(await writeSecrets(ctx, id, { all: input.secrets }, now)),
    ]);
  } catch (error) {
    throw isUniqueViolation(error, "deployments.name")
      ? await nameTaken(ctx, input.name, error)
      : error;
  }
  if (isBuilt) await sendBuilds(ctx.env, [revision_id]);
  await ensureTracingProject(ctx, id).catch(logMissingProject);
  return getDeployment(ctx, id, origin);
}

/** Logs the error and does not throw it: the deployment exists, and its first trace creates the project. */
function logMissingProject(error: unknown): void {
  log.error("tracing_project_not_created", error);
}

export async function getDeployment(
  ctx: Context,
  deployment_id: string,
  origin: string,
): Promise<Deployment> {
  assertMay(ctx, "read");
  const [row] = await selectDeployments(ctx).where(ownRow(ctx, deployments, deployment_id));
  if (!row) throw notFound("Deployment", deployment_id);
  return toDeployment(row, ctx.env, origin);
}

/** Hides the deployment at once. Messages of the deletions queue delete its threads, artifacts and rows. */
export async function deleteDeployment(
  ctx: Context,
  deployment_id: string,
  { delete_tracing_project }: DeploymentDeleteQuery,
): Promise<void> {
  assertMay(ctx, "delete");
  await findDeployment(ctx, deployment_id);
  if (delete_tracing_project) await deleteTracingProject(ctx, deployment_id);
  const updated_at = new Date().toISOString();
  await ctx.db.batch([
    ctx.db
      .update(deployments)
      .set({ status: "AWAITING_DELETE", active_revision_id: null, updated_at })
      .where(ownRow(ctx, deployments, deployment_id)),
    ctx.db
      .update(revisions)
      .set({ status: "INTERRUPTED", lease_expires_at: null, updated_at })
      .where(
        and(
          eq(revisions.deployment_id, deployment_id),
          inWorkspace(ctx, revisions),
          inStatus(revisions.status, statusesBefore("INTERRUPTED")),
        ),
      ),
  ]);
  forgetActive(deployment_id);
  await sendDeletions(ctx.env, [{ id: deployment_id, updated_at }]);
}

/** Returns a DNS label with a random end, because it has to be unique across workspaces. */
function toSlug(name: string): string {
  const label = name.toLowerCase().replace(/[^a-z0-9]+/g, "-");
  const start = label.slice(0, 50).replace(/^-|-$/g, "");
  return `${start}-${crypto.randomUUID().slice(0, 8)}`;
}

async function nameTaken(ctx: Context, name: string, cause: unknown): Promise<AppError> {
  const [row] = await ctx.db
    .select({ id: deployments.id })
    .from(deployments)
    .where(
      and(
        inWorkspace(ctx, deployments),
        eq(deployments.name, name),
        eq(deployments.status, "READY"),
      ),
    );
  const text = `A deployment named "${name}" exists in this workspace: choose another name, or update it with PATCH /v2/deployments/${row?.id ?? "{id}"}.`;
  return new AppError("conflict", text, { cause });
}

/** Deletes the project, unless another request has deleted it. */
async function deleteTracingProject(ctx: Context, deployment_id: string): Promise<void> {
  const { tracing_project_id } = await findDeployment(ctx, deployment_id);
  if (tracing_project_id === null) return;
  try {
    await deleteProject(ctx, tracing_project_id);
  } catch (error) {
    if (!(error instanceof AppError && error.code === "not_found")) throw error;
  }
}
