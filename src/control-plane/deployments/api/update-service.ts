import { assertMay } from "../../../shared/auth.ts";
import type { Context } from "../../../shared/context.ts";
import { AppError, invalid } from "../../../shared/errors.ts";
import { newId } from "../../../shared/storage/ids.ts";
import { agentUrl } from "../answers.ts";
import { assertChangeable, type DeploymentRow, findDeployment, findRevisions } from "../rows.ts";
import type { Deployment, DeploymentPatchRequest } from "../schema.ts";
import { assertSecretChanges, assertSecrets } from "../secret-rules.ts";
import { readSecrets, type SecretsChange } from "../secrets.ts";
import { canBuild, type SourceChange, toChange } from "../sources.ts";
import { assertTraffic } from "../traffic.ts";
import { assertUploadPlan } from "../uploads/uploads.ts";
import { applyChange, type NewRevision, triggerOf } from "./change.ts";
import { getDeployment } from "./service.ts";

/** Maximum number of attempts at a change of secrets, which fails while pushes create revisions. */
const MAX_ATTEMPTS = 3;

export async function updateDeployment(
  ctx: Context,
  deployment_id: string,
  input: DeploymentPatchRequest,
  origin: string,
): Promise<Deployment> {
  assertMay(ctx, "write");
  for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
    if (await tryUpdate(ctx, deployment_id, input, origin)) {
      return getDeployment(ctx, deployment_id, origin);
    }
  }
  const text = `Deployment ${deployment_id} received other revisions during the change: send the request again.`;
  throw new AppError("conflict", text);
}

/** @returns `false` when another revision became the latest after the deployment was read */
async function tryUpdate(
  ctx: Context,
  deployment_id: string,
  input: DeploymentPatchRequest,
  origin: string,
): Promise<boolean> {
  const before = await findDeployment(ctx, deployment_id);
  assertChangeable(before);
  const change = toChange(before, input, agentUrl(ctx.env, origin, deployment_id));
  if (change.source_revision_config?.source_tarball_path) assertUploadPlan(ctx.caller);
  const secrets = await secretsOf(ctx, before, input);
  if (secrets && input.traffic) {
    throw invalid(["body", "traffic"], "cannot change together with secrets: send two requests");
  }
  return applyChange(ctx, before, {
    ...change,
    traffic: await toTraffic(ctx, before, input.traffic),
    display_name: input.display_name,
    secrets,
    revision: makesRevision(before, change)
      ? { id: newId(), copied: null, trigger: triggerOf(ctx.caller, change) }
      : secrets && (await revisionOfSecrets(ctx, before)),
  });
}

/**
 * Returns the change of the secrets. `secret_changes` without a different value change nothing, so that a repeated
 * request creates no second revision. `secrets` always create one, except an empty list with an upload: published
 * command-line tools send it for a folder without an env file.
 * @returns `null` when the secrets do not change
 */
async function secretsOf(
  ctx: Context,
  { id }: DeploymentRow,
  { secrets, secret_changes, source_revision_config: config }: DeploymentPatchRequest,
): Promise<SecretsChange | null> {
  if (secret_changes != null) {
    if (secrets != null) throw invalid(["body", "secret_changes"], "excludes secrets: send one");
    const kept = await readSecrets(ctx.env, id);
    assertSecretChanges(secret_changes, kept);
    const some = secret_changes.filter(({ name, value }) => value !== (kept[name] ?? null));
    return some.length === 0 ? null : { some };
  }
  const isDefault = secrets?.length === 0 && config?.source_tarball_path != null;
  if (secrets == null || isDefault) return null;
  assertSecrets(secrets);
  return { all: secrets };
}

/**
 * Copies the active revision when the latest one is deployed. Otherwise builds again: the new secrets may be what
 * the build was missing.
 * @returns `null` for a deployment without revisions
 */
async function revisionOfSecrets(ctx: Context, before: DeploymentRow): Promise<NewRevision | null> {
  const { latest_revision_id, active_revision_id } = before;
  const ids = [latest_revision_id, active_revision_id].filter((id) => id !== null);
  const rows = await findRevisions(ctx, before.id, ids);
  const latest = rows.find(({ id }) => id === latest_revision_id);
  const active = rows.find(({ id }) => id === active_revision_id);
  if (latest?.status === "DEPLOYED" && active) {
    return { id: newId(), copied: active, trigger: "secrets" };
  }
  return latest ? { id: newId(), copied: null, trigger: "secrets" } : null;
}

/** Checks the traffic. @returns `undefined` when it does not change */
async function toTraffic(
  ctx: Context,
  before: DeploymentRow,
  traffic: DeploymentPatchRequest["traffic"],
) {
  if (traffic == null) return undefined;
  const ids = traffic.map(({ revision_id }) => revision_id);
  assertTraffic(traffic, await findRevisions(ctx, before.id, ids));
  return traffic;
}

function makesRevision(before: DeploymentRow, change: SourceChange): boolean {
  const { source_revision_config: config } = change;
  if (config === undefined) return false;
  return canBuild(before.source, { ...before.source_revision_config, ...config });
}
