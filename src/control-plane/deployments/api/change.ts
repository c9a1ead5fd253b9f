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

/** A new revision of the deployment's source, or a copy of a deployed revision. */
export type NewRevision = { id: string; copied: RevisionRow | null; trigger: RevisionTrigger };

/** Command lines send no name of their own, but only they upload a folder and send its path. */
export function triggerOf(caller: Caller, change: SourceChange): RevisionTrigger {
  const client = clientOf(caller);
  const isUpload = change.source_revision_config?.source_tarball_path != null;
  return isUpload && client === "api" ? "cli" : client;
}

export type DeploymentChange = SourceChange & {
  display_name?: string | null | undefined;
  /** Within the limits. `null` keeps them. */
  secrets: SecretsChange | null;
  revision: NewRevision | null;
  /** Replaces the split. An empty list ends it. */
  traffic?: Traffic | undefined;
};

/**
 * Writes settings, secrets and the revision that follows from them in one transaction. @returns `false` when the
 * deployment has another latest revision than `before`: a copy of an older one would supersede it.
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
  // Records of other secrets are never used: the next load replaces what remains after a failure.
  if (secrets) await deleteCodeRecords(ctx.env, id).catch(() => {});
  if (revision?.copied === null) {
    await sendBuilds(ctx.env, [revision.id]);
  }
  return true;
}

/** @returns `false` when the deployment exists, and changed in another way */
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

/** @returns `false` when the traffic names a revision that was deleted after it was read */
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

/** SQL condition: a deletion of a revision may come after it was read. */
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

/** Keeps the upload of a new revision. */
export function markUsed({ db, caller }: Context, { source_revision_config }: SourceChange) {
  const path = source_revision_config?.source_tarball_path;
  if (path === undefined) return [];
  const isUpload = and(eq(uploads.object_path, path), inWorkspace({ caller }, uploads));
  return [db.update(uploads).set({ is_used: true }).where(isUpload)];
}

/** Refuses a change to a source that a build would not find. */
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

/** The active revision stops being a preview. */
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
 * The copy takes the place of its source: also in a split, which stays. It becomes active only where the active revision
 * has the same code: another may have been redeployed since the source was read.
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
  // A split serves beside an active revision, which a deployment without a successful first build lacks.
  const active_revision_id = sql`coalesce(${deployments.active_revision_id}, ${first.revision_id})`;
  return { active_revision_id, traffic: [...traffic] };
}
