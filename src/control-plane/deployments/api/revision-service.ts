import { and, eq, type SQL, sql } from "drizzle-orm";
import { assertMay } from "../../../shared/auth.ts";
import type { Context } from "../../../shared/context.ts";
import { AppError, invalid } from "../../../shared/errors.ts";
import { newId } from "../../../shared/storage/ids.ts";
import { inWorkspace, isOrphaned, ownRow } from "../../../shared/storage/sql.ts";
import { assertStorageQuota } from "../../quotas/quota-service.ts";
import { forgetActive } from "../active.ts";
import { agentUrl, toRevision } from "../answers.ts";
import { notifyStreams } from "../logs/agent-log.ts";
import { sendBuilds } from "../queue.ts";
import type { Revision, RevisionCreateRequest } from "../revision-schema.ts";
import { INTERRUPTED, isFinished, statusesBefore } from "../revisions.ts";
import {
  assertChangeable,
  assertCopyRate,
  copyRevision,
  type DeploymentRow,
  findDeployment,
  findRevision,
  insertRevision,
  toDeletionError,
} from "../rows.ts";
import type { Deployment, RevisionPath } from "../schema.ts";
import { assertSecrets } from "../secret-rules.ts";
import { canBuild, type SourceChange, toChange } from "../sources.ts";
import { inStatus } from "../sql.ts";
import { deployments, revisions } from "../table.ts";
import { assertNotServing } from "../traffic.ts";
import { assertUploadPlan } from "../uploads/uploads.ts";
import { applyChange, assertUploaded, markUsed, triggerOf } from "./change.ts";
import { getDeployment } from "./service.ts";

export async function getRevision(
  ctx: Context,
  path: RevisionPath,
  origin: string,
): Promise<Revision> {
  assertMay(ctx, "read");
  return toRevision(await findRevision(ctx, path), ctx.env, origin);
}

/** Creates a revision, with or without changes. */
export async function createRevision(
  ctx: Context,
  deployment_id: string,
  input: RevisionCreateRequest,
  origin: string,
): Promise<Revision> {
  assertMay(ctx, "write");
  const before = await findDeployment(ctx, deployment_id);
  assertChangeable(before);
  const change = toChange(before, input, agentUrl(ctx.env, origin, deployment_id));
  if (change.source_revision_config?.source_tarball_path) assertUploadPlan(ctx.caller);
  if (
    !canBuild(before.source, { ...before.source_revision_config, ...change.source_revision_config })
  ) {
    const text = `Deployment ${deployment_id} has no source: POST /v2/deployments/${deployment_id}/upload-url, PUT the tarball to upload_url, and send object_path as source_tarball_path.`;
    throw new AppError("bad_request", text);
  }
  const revision_id = newId();
  if (input.activate) {
    const revision = { id: revision_id, copied: null, trigger: triggerOf(ctx.caller, change) };
    if (input.secrets) assertSecrets(input.secrets);
    const secrets = input.secrets ? { all: input.secrets } : null;
    await applyChange(ctx, before, { ...change, secrets, revision });
  } else {
    assertPreview(input);
    await createPreview(ctx, before, change, revision_id);
  }
  return getRevision(ctx, { deployment_id, revision_id }, origin);
}

/** Creates a preview with `change`. The deployment does not change. */
async function createPreview(
  ctx: Context,
  before: DeploymentRow,
  change: SourceChange,
  revision_id: string,
) {
  await assertStorageQuota(ctx);
  await assertUploaded(ctx, change);
  const now = new Date().toISOString();
  const config = change.source_revision_config ?? {};
  const input = { now, trigger: triggerOf(ctx.caller, change), preview: config };
  const insert = insertRevision(ctx, before, revision_id, input);
  await ctx.db.batch([insert, ...markUsed(ctx, change)]).catch(async (error: unknown) => {
    throw isOrphaned(error) ? await toDeletionError(ctx, before.id, error) : error;
  });
  await sendBuilds(ctx.env, [revision_id]);
}

function assertPreview({ secrets, source_config }: RevisionCreateRequest) {
  const given = Object.entries({ secrets, source_config }).find(([, value]) => value != null);
  if (given === undefined) return;
  const text = `cannot change with a preview: update the deployment, or leave out activate`;
  throw invalid(["body", given[0]], text);
}

/**
 * Creates a revision of the same code. Code that was deployed before serves at once. Other code is built again, or only
 * loaded again if its build has stored an artifact.
 */
export async function redeployRevision(
  ctx: Context,
  path: RevisionPath,
  origin: string,
): Promise<Deployment> {
  assertMay(ctx, "write");
  const source = await findRevision(ctx, path);
  const { deployment_id } = path;
  await assertCopyRate(ctx, deployment_id);
  if (!isFinished(source.status)) {
    const text = `Revision ${source.id} is ${source.status}: wait until the build ends, or interrupt it first.`;
    throw new AppError("bad_request", text);
  }
  const [revision_id, now] = [newId(), new Date().toISOString()];
  const isServing = source.status === "DEPLOYED";
  if (!isServing) await assertStorageQuota(ctx);
  await ctx.db
    .batch([
      copyRevision(ctx, source, revision_id, { now, trigger: "redeploy" }),
      ctx.db
        .update(deployments)
        .set({
          source_revision_config: source.source_revision_config,
          latest_revision_id: revision_id,
          ...(isServing && { active_revision_id: revision_id, traffic: null }),
          updated_at: now,
        })
        .where(ownRow(ctx, deployments, deployment_id)),
    ])
    .catch(async (error: unknown) => {
      throw isOrphaned(error) ? await toDeletionError(ctx, deployment_id, error) : error;
    });
  forgetActive(deployment_id);
  if (!isServing) await sendBuilds(ctx.env, [revision_id]);
  return getDeployment(ctx, deployment_id, origin);
}

/**
 * Ends a build for good: the writes of its attempt find no row. The status is BUILD_FAILED, because published clients
 * continue to wait when a revision is INTERRUPTED.
 */
export async function interruptRevision(
  ctx: Context,
  path: RevisionPath,
  origin: string,
): Promise<Revision> {
  assertMay(ctx, "write");
  const { id, status } = await findRevision(ctx, path);
  assertNotServing(await findDeployment(ctx, path.deployment_id), id);
  const updated_at = new Date().toISOString();
  const rows = await ctx.db
    .update(revisions)
    .set({
      status: "BUILD_FAILED",
      status_reason: INTERRUPTED,
      status_message: "The build was interrupted on request.",
      lease_expires_at: null,
      updated_at,
    })
    .where(
      and(
        eq(revisions.id, id),
        inWorkspace(ctx, revisions),
        inStatus(revisions.status, statusesBefore("BUILD_FAILED")),
      ),
    )
    .returning();
  const [row] = rows;
  if (row) {
    await notifyStreams(ctx.env, path.deployment_id);
    // The consumer finds nothing to build, and reports the end to the git host.
    await sendBuilds(ctx.env, [id]);
    return toRevision(row, ctx.env, origin);
  }
  const text = `Revision ${id} is ${status}: only a build in progress can be interrupted.`;
  throw new AppError("conflict", text);
}

/**
 * Hides the revision at once. Its code is deleted with the deployment, because threads can read their state
 * through it.
 */
export async function deleteRevision(ctx: Context, path: RevisionPath): Promise<void> {
  assertMay(ctx, "delete");
  const { id, status } = await findRevision(ctx, path);
  const deployment = await findDeployment(ctx, path.deployment_id);
  assertNotServing(deployment, id);
  if (!isFinished(status)) {
    throw new AppError("conflict", `Revision ${id} is ${status}: interrupt it first.`);
  }
  if (deployment.latest_revision_id === id) {
    const text = `Revision ${id} is the latest of its deployment: create another revision first.`;
    throw new AppError("conflict", text);
  }
  const deleted_at = new Date().toISOString();
  const { meta } = await ctx.db
    .update(revisions)
    .set({ deleted_at })
    .where(and(eq(revisions.id, id), inWorkspace(ctx, revisions), isUnused(id)));
  if (meta.changes === 0) {
    const text = `Revision ${id} became the active one, the latest one, or part of the traffic: read its deployment again.`;
    throw new AppError("conflict", text);
  }
  forgetActive(path.deployment_id);
}

/** Repeats the checks of `deleteRevision` inside its update: the traffic may have changed since. */
function isUnused(id: string): SQL {
  return sql`not exists (
    select 1 from deployments where deployments.id = ${revisions.deployment_id} and (
      active_revision_id = ${id} or latest_revision_id = ${id}
      or exists (select 1 from json_each(traffic) where value ->> 'revision_id' = ${id})
    )
  )`;
}
