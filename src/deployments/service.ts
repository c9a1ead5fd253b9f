import { and, asc, eq, sql } from "drizzle-orm";
import { assertMay } from "../shared/auth.ts";
import type { Context } from "../shared/context.ts";
import { AppError, notFound } from "../shared/errors.ts";
import { newId } from "../shared/ids.ts";
import { findActive, forgetActive } from "./active.ts";
import { toDeployment } from "./answers.ts";
import { assertIntegration } from "./integration-service.ts";
import { sendOrLeave } from "./queue.ts";
import { statusesBefore } from "./revisions.ts";
import {
  type DeploymentRow,
  findDeployment,
  insertRevision,
  isOurs,
  selectDeployments,
} from "./rows.ts";
import type {
  Deployment,
  DeploymentCreateRequest,
  DeploymentPatchRequest,
  DeploymentsList,
  DeploymentsQuery,
} from "./schema.ts";
import { assertSecrets } from "./secret-rules.ts";
import { replaceSecrets } from "./secrets.ts";
import { canBuild, type SourceChange, toChange, toNewSource } from "./sources.ts";
import { inStatus, isOrphaned, isUniqueViolation, merged } from "./sql.ts";
import { deployments, revisions } from "./table.ts";

export type ActiveRevision = Awaited<ReturnType<typeof findActive>>;

/** What a run needs of its deployment. 404 when the workspace has no such one, 503 until one is deployed. */
export function activeRevision(ctx: Context, deployment_id: string): Promise<ActiveRevision> {
  return findActive(ctx, deployment_id);
}

export async function createDeployment(
  ctx: Context,
  input: DeploymentCreateRequest,
  origin: string,
): Promise<Deployment> {
  assertMay(ctx, "write");
  assertSecrets(input.secrets);
  const parts = toNewSource(input);
  await assertIntegration(ctx, parts.source_config);
  const [id, revision_id, now] = [newId(), newId(), new Date().toISOString()];
  const isBuilt = canBuild(parts.source, parts.source_revision_config);
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
    created_at: now,
    updated_at: now,
  };
  try {
    await ctx.db.batch([
      ctx.db.insert(deployments).values(row),
      ...(isBuilt ? [insertRevision(ctx, row, revision_id, now)] : []),
      ...(await replaceSecrets(ctx, id, input.secrets, now)),
    ]);
  } catch (error) {
    throw isUniqueViolation(error, "deployments.name")
      ? await taken(ctx, input.name, error)
      : error;
  }
  if (isBuilt) await sendOrLeave(ctx.env.BUILDS, { revision_id });
  return getDeployment(ctx, id, origin);
}

export async function getDeployment(
  ctx: Context,
  deployment_id: string,
  origin: string,
): Promise<Deployment> {
  assertMay(ctx, "read");
  const [row] = await selectDeployments(ctx).where(isOurs(ctx, deployment_id));
  if (!row) throw notFound("Deployment", deployment_id);
  return toDeployment(row, ctx.env, origin);
}

export async function listDeployments(
  ctx: Context,
  { limit, offset, name_contains, status }: DeploymentsQuery,
  origin: string,
): Promise<DeploymentsList> {
  assertMay(ctx, "read");
  const part = name_contains?.toLowerCase();
  const rows = await selectDeployments(ctx)
    .where(
      and(
        eq(deployments.workspace_id, ctx.caller.workspace_id),
        part === undefined ? undefined : sql`instr(${deployments.name}, ${part}) > 0`,
        status === undefined ? undefined : sql`${deployments.status} = ${status}`,
      ),
    )
    .orderBy(asc(deployments.created_at), asc(deployments.id))
    .limit(limit)
    .offset(offset);
  const resources = rows.map((row) => toDeployment(row, ctx.env, origin));
  return { resources, offset: offset + resources.length };
}

export async function updateDeployment(
  ctx: Context,
  deployment_id: string,
  input: DeploymentPatchRequest,
  origin: string,
): Promise<Deployment> {
  assertMay(ctx, "write");
  const secrets = input.secrets ?? [];
  assertSecrets(secrets);
  const before = await findDeployment(ctx, deployment_id);
  if (before.status === "AWAITING_DELETE") throw beingDeleted(before);
  const change = toChange(before, input);
  const now = new Date().toISOString();
  const revision_id = makesRevision(before, change) ? newId() : null;
  const bump = secrets.length > 0 ? 1 : 0;
  const secrets_version = sql`${deployments.secrets_version} + ${bump}`;
  await ctx.db
    .batch([
      ctx.db
        .update(deployments)
        .set({ ...toUpdate(input, change, revision_id), secrets_version, updated_at: now })
        .where(isOurs(ctx, deployment_id)),
      ...(revision_id === null ? [] : [insertRevision(ctx, before, revision_id, now)]),
      ...(secrets.length > 0 ? await replaceSecrets(ctx, deployment_id, secrets, now) : []),
    ])
    .catch(async (error: unknown) => {
      throw isOrphaned(error) ? await overtaken(ctx, deployment_id, error) : error;
    });
  forgetActive(deployment_id);
  if (revision_id !== null) await sendOrLeave(ctx.env.BUILDS, { revision_id });
  return getDeployment(ctx, deployment_id, origin);
}

function makesRevision(before: DeploymentRow, change: SourceChange): boolean {
  const { source_revision_config: config } = change;
  if (config === undefined) return false;
  return canBuild(before.source, { ...before.source_revision_config, ...config });
}

function toUpdate(
  { display_name }: DeploymentPatchRequest,
  { source_config, source_revision_config: config }: SourceChange,
  revision_id: string | null,
) {
  return {
    ...(display_name != null && { display_name }),
    ...(source_config && { source_config: merged(deployments.source_config, source_config) }),
    ...(config && { source_revision_config: merged(deployments.source_revision_config, config) }),
    ...(revision_id !== null && { latest_revision_id: revision_id }),
  };
}

/** Answers at once; threads, artifacts and rows go with a message of the deletions queue. */
export async function deleteDeployment(ctx: Context, deployment_id: string): Promise<void> {
  assertMay(ctx, "delete");
  await findDeployment(ctx, deployment_id);
  const updated_at = new Date().toISOString();
  await ctx.db.batch([
    ctx.db
      .update(deployments)
      .set({ status: "AWAITING_DELETE", active_revision_id: null, updated_at })
      .where(isOurs(ctx, deployment_id)),
    ctx.db
      .update(revisions)
      .set({ status: "INTERRUPTED", lease_expires_at: null, updated_at })
      .where(
        and(
          eq(revisions.deployment_id, deployment_id),
          eq(revisions.workspace_id, ctx.caller.workspace_id),
          inStatus(revisions.status, statusesBefore("INTERRUPTED")),
        ),
      ),
  ]);
  forgetActive(deployment_id);
  await sendOrLeave(ctx.env.DELETIONS, { deployment_id });
}

/** A DNS label that no other deployment has, whatever its workspace. */
function toSlug(name: string): string {
  const start = name.slice(0, 50).replace(/^-+|-+$/g, "") || "agent";
  return `${start}-${crypto.randomUUID().slice(0, 8)}`;
}

async function taken(ctx: Context, name: string, cause: unknown): Promise<AppError> {
  const [row] = await ctx.db
    .select({ id: deployments.id })
    .from(deployments)
    .where(
      and(
        eq(deployments.workspace_id, ctx.caller.workspace_id),
        eq(deployments.name, name),
        eq(deployments.status, "READY"),
      ),
    );
  const text = `A deployment named "${name}" exists in this workspace. Choose another name, or change that one: PATCH /v2/deployments/${row?.id ?? "{id}"}.`;
  return new AppError("conflict", text, { cause });
}

/** A deletion came between: the row tells, and where there is none, that is the answer. */
async function overtaken(ctx: Context, deployment_id: string, cause: unknown): Promise<AppError> {
  return beingDeleted(await findDeployment(ctx, deployment_id), cause);
}

function beingDeleted({ id }: DeploymentRow, cause?: unknown): AppError {
  const text = `Deployment ${id} is being deleted and cannot be changed; its name is free for a new one.`;
  return new AppError("conflict", text, { cause });
}
