import { and, eq, type SQL, sql } from "drizzle-orm";
import type { Caller, Context } from "../../../shared/context.ts";
import { AppError, invalid } from "../../../shared/errors.ts";
import { inWorkspace, isOrphaned, ownRow } from "../../../shared/storage/sql.ts";
import { assertStorageQuota } from "../../quotas/quota-service.ts";
import { clientOf } from "../../workspaces/session/session-service.ts";
import { forgetActive } from "../active.ts";
import { assertIntegration } from "../git/integration-service.ts";
import { deleteCodeRecords } from "../isolate/code-record.ts";
import { sendBuilds } from "../queue.ts";
import type { RevisionTrigger } from "../revision-schema.ts";
import {
  assertCopyRate,
  copyRevision,
  type DeploymentRow,
  findDeployment,
  insertRevision,
  type RevisionRow,
  toDeletionError,
} from "../rows.ts";
import { changedNames, type SecretsChange, writeSecrets } from "../secrets.ts";
import type { SourceChange } from "../sources.ts";
import { merged } from "../sql.ts";
import { deployments, revisions, uploads } from "../table.ts";
import { promotedBy, type Traffic } from "../traffic.ts";

/** A new revision that is built, or a copy of the deployed revision `copied`, which needs no build. */
export type NewRevision = { id: string; copied: RevisionRow | null; trigger: RevisionTrigger };

/** Returns the client of a request: `cli` for an upload with an API key, as command-line tools do not send a name. */
export function triggerOf(caller: Caller, change: SourceChange): RevisionTrigger {
  const client = clientOf(caller);
  const isUpload = change.source_revision_config?.source_tarball_path != null;
  return isUpload && client === "api" ? "cli" : client;
}

export type DeploymentChange = SourceChange & {
  display_name?: string | null | undefined;
  /** Checked against the limits already. `null` changes none. */
  secrets: SecretsChange | null;
  revision: NewRevision | null;
  /** Replaces the split. An empty list ends it. */
  traffic?: Traffic | undefined;
};

/**
 * Writes settings, secrets and the revision that follows from them in one transaction.
 * @returns `false` when the change copies a revision and the deployment has another latest revision than `before`: the
 * copy would supersede a newer revision
 * @throws AppError 409 when a revision of the traffic is deleted, or when the deployment is being deleted
 */
export async function applyChange(
  ctx: Context,
  before: DeploymentRow,
  change: DeploymentChange,
): Promise<boolean> {
  await assertAllowed(ctx, before, change);
  const { id } = before;
  const { secrets, revision } = change;
  const isWritten = await writeChange(ctx, before, change).catch((error: unknown) => {
    if (isOrphaned(error)) return afterOrphan(ctx, change, id, error);
    throw error;
  });
  if (!isWritten && change.traffic) throw trafficOvertaken(id);
  if (!isWritten) return false;
  forgetActive(id);
  // A failure does no harm: a record with an older version of the secrets is not used, and the next load replaces it.
  if (secrets) await deleteCodeRecords(ctx.env, id).catch(() => {});
  if (revision?.copied === null) {
    await sendBuilds(ctx.env, [revision.id]);
  }
  return true;
}

/**
 * @returns `false` for an error by a concurrent change.
 * @throws AppError when the deployment is being deleted or gone
 */
async function afterOrphan(
  ctx: Context,
  { traffic, revision }: DeploymentChange,
  id: string,
  error: unknown,
): Promise<boolean> {
  const isReady = (await findDeployment(ctx, id)).status === "READY";
  if (isReady && (traffic || revision?.copied)) return false;
  throw await toDeletionError(ctx, id, error);
}

/** @returns `false` when the traffic names a revision that does not serve any more: it was deleted after it was read */
async function writeChange(
  ctx: Context,
  before: DeploymentRow,
  change: DeploymentChange,
): Promise<boolean> {
  const { secrets, revision, traffic } = change;
  const { id, latest_revision_id: latest } = before;
  const now = new Date().toISOString();
  const changed_secrets = secrets && (await changedNames(ctx.env, id, secrets));
  const bump = secrets ? 1 : 0;
  const secrets_version = sql`${deployments.secrets_version} + ${bump}`;
  // Without a match the insert of the copy fails, and with it the transaction.
  const isUnchanged = revision?.copied
    ? sql`${deployments.latest_revision_id} is ${latest}`
    : undefined;
  const [{ meta }] = await ctx.db.batch([
    ctx.db
      .update(deployments)
      .set({ ...toUpdate(change), secrets_version, updated_at: now })
      .where(and(ownRow(ctx, deployments, id), isUnchanged, traffic && areServable(id, traffic))),
    ...(traffic && traffic.length > 0 ? [markActive(ctx, id)] : []),
    ...markUsed(ctx, change),
    ...(revision ? [toInsert(ctx, before, revision, { now, changed_secrets })] : []),
    ...(secrets ? await writeSecrets(ctx, id, secrets, now) : []),
  ]);
  return !traffic || meta.changes > 0;
}

/** Matches when all revisions of the traffic can serve: one may have been deleted since it was read. */
function areServable(deployment_id: string, traffic: Traffic): SQL {
  const ids = JSON.stringify(traffic.map(({ revision_id }) => revision_id));
  return sql`NOT EXISTS (SELECT 1 FROM json_each(${ids}) named WHERE NOT EXISTS (
    SELECT 1 FROM revisions r WHERE r.id = named.value AND r.deployment_id = ${deployment_id}
      AND r.status = 'DEPLOYED' AND r.deleted_at IS NULL))`;
}

function trafficOvertaken(deployment_id: string): AppError {
  const text = `A revision of the traffic was deleted during the change: read the revisions of deployment ${deployment_id} again.`;
  return new AppError("conflict", text);
}

async function assertAllowed(
  ctx: Context,
  before: DeploymentRow,
  change: DeploymentChange,
): Promise<void> {
  if (change.revision?.copied === null) await assertStorageQuota(ctx);
  else if (change.revision !== null) await assertCopyRate(ctx, before.id);
  await assertUploaded(ctx, change);
  const { integration_id } = change.source_config ?? {};
  if (integration_id) await assertIntegration(ctx, { ...before.source_config, integration_id });
}

function toInsert(
  ctx: Context,
  deployment: DeploymentRow,
  { id, copied, trigger }: NewRevision,
  input: { now: string; changed_secrets: string[] | null },
) {
  const fields = { ...input, trigger };
  return copied
    ? copyRevision(ctx, copied, id, { ...fields, isLatest: true })
    : insertRevision(ctx, deployment, id, { ...fields, isLatest: true });
}

/** Returns the statement that marks the upload of a new revision as used, so that the sweep does not delete it. */
export function markUsed({ db, caller }: Context, { source_revision_config }: SourceChange) {
  const path = source_revision_config?.source_tarball_path;
  if (path === undefined) return [];
  const isUpload = and(eq(uploads.object_path, path), inWorkspace({ caller }, uploads));
  return [db.update(uploads).set({ is_used: true }).where(isUpload)];
}

/** @throws AppError 422 when the tarball of a change is not uploaded */
export async function assertUploaded(
  ctx: Context,
  { source_revision_config: config }: SourceChange,
) {
  const path = config?.source_tarball_path;
  if (path === undefined || (await ctx.env.ARTIFACTS.head(path)) !== null) return;
  throw invalid(
    ["body", "source_revision_config", "source_tarball_path"],
    "has no uploaded object: create an upload URL, PUT the tarball to upload_url, and send object_path",
  );
}

/** Removes the preview mark of the active revision, which the traffic may have made active. */
function markActive(ctx: Context, deployment_id: string) {
  const active = sql`(SELECT active_revision_id FROM deployments WHERE id = ${deployment_id})`;
  return ctx.db
    .update(revisions)
    .set({ is_preview: false })
    .where(and(eq(revisions.id, active), inWorkspace(ctx, revisions)));
}

function toUpdate(change: DeploymentChange) {
  const { display_name, source_config, source_revision_config: config, revision } = change;
  return {
    ...(display_name != null && { display_name }),
    ...(source_config && { source_config: merged(deployments.source_config, source_config) }),
    ...(config && { source_revision_config: merged(deployments.source_revision_config, config) }),
    ...(revision && { latest_revision_id: revision.id }),
    ...(revision?.copied && toSuccessor(revision.copied, revision.id)),
    ...(change.traffic && toTrafficUpdate(change.traffic)),
  };
}

/**
 * Replaces `copied` by its copy, also in a split of the traffic. The copy becomes active only if the active revision
 * has the same code: another revision may have become active since `copied` was read.
 */
function toSuccessor({ id: copied_id, artifact_key }: RevisionRow, id: string) {
  const active = deployments.active_revision_id;
  const isSameCode = sql`(SELECT artifact_key FROM revisions WHERE id = ${active}) IS ${artifact_key}`;
  const traffic = sql`replace(${deployments.traffic}, ${copied_id}, ${id})`;
  return { active_revision_id: sql`iif(${isSameCode}, ${id}, ${active})`, traffic };
}

function toTrafficUpdate(traffic: Traffic) {
  const promoted_id = promotedBy(traffic);
  if (promoted_id !== null) return { active_revision_id: promoted_id, traffic: null };
  const [first] = traffic;
  if (first === undefined) return { traffic: null };
  // A split needs an active revision. Without one (only previews are deployed) the first share becomes active.
  const active_revision_id = sql`coalesce(${deployments.active_revision_id}, ${first.revision_id})`;
  return { active_revision_id, traffic: [...traffic] };
}
