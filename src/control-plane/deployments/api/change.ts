import { and, eq, sql } from "drizzle-orm";
import type { Context } from "../../../shared/context.ts";
import { invalid } from "../../../shared/errors.ts";
import { isOrphaned } from "../../../shared/storage/sql.ts";
import { sendOrLeave } from "../../../shared/work/queue.ts";
import { forgetActive } from "../active.ts";
import { type DeploymentRow, insertRevision, isOurs, overtaken } from "../rows.ts";
import type { SecretInput } from "../schema.ts";
import { assertSecrets } from "../secret-rules.ts";
import { replaceSecrets } from "../secrets.ts";
import type { SourceChange } from "../sources.ts";
import { merged } from "../sql.ts";
import { deployments, revisions } from "../table.ts";
import { promotedBy, type Traffic } from "../traffic.ts";

export type DeploymentChange = SourceChange & {
  display_name?: string | null | undefined;
  /** The whole new set; an empty one changes nothing. */
  secrets: readonly SecretInput[];
  /** The new revision; `null` without one. */
  revision_id: string | null;
  /** The complete new split; an empty one ends it. */
  traffic?: Traffic | undefined;
};

/** Settings, secrets and the revision that follows from them stand or fall together. */
export async function applyChange(ctx: Context, before: DeploymentRow, change: DeploymentChange) {
  const { secrets, revision_id } = change;
  const promoted = promotedBy(change.traffic ?? []);
  assertSecrets(secrets);
  await assertUploaded(ctx, change);
  const { id } = before;
  const now = new Date().toISOString();
  const bump = secrets.length > 0 ? 1 : 0;
  const secrets_version = sql`${deployments.secrets_version} + ${bump}`;
  await ctx.db
    .batch([
      ctx.db
        .update(deployments)
        .set({ ...toUpdate(change), secrets_version, updated_at: now })
        .where(isOurs(ctx, id)),
      ...(promoted === null ? [] : [markPromoted(ctx, promoted)]),
      ...(revision_id === null ? [] : [insertRevision(ctx, before, revision_id, { now })]),
      ...(secrets.length > 0 ? await replaceSecrets(ctx, id, secrets, now) : []),
    ])
    .catch(async (error: unknown) => {
      throw isOrphaned(error) ? await overtaken(ctx, id, error) : error;
    });
  forgetActive(id);
  if (revision_id !== null) await sendOrLeave(ctx.env.BUILDS, { revision_id });
}

/** A build that would find nothing is refused while its client still listens. */
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
function markPromoted(ctx: Context, revision_id: string) {
  const { workspace_id } = ctx.caller;
  return ctx.db
    .update(revisions)
    .set({ is_preview: false })
    .where(and(eq(revisions.id, revision_id), eq(revisions.workspace_id, workspace_id)));
}

function toUpdate(change: DeploymentChange) {
  const { display_name, source_config, source_revision_config: config, revision_id } = change;
  return {
    ...(display_name != null && { display_name }),
    ...(source_config && { source_config: merged(deployments.source_config, source_config) }),
    ...(config && { source_revision_config: merged(deployments.source_revision_config, config) }),
    ...(revision_id !== null && { latest_revision_id: revision_id }),
    ...(change.traffic && toTrafficUpdate(change.traffic)),
  };
}

function toTrafficUpdate(traffic: Traffic) {
  const active_revision_id = promotedBy(traffic);
  if (active_revision_id !== null) return { active_revision_id, traffic: null };
  return { traffic: traffic.length === 0 ? null : [...traffic] };
}
