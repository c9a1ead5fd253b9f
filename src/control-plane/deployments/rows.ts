import { and, desc, eq, getTableColumns, isNull, sql } from "drizzle-orm";
import { alias } from "drizzle-orm/sqlite-core";
import type { Context, Database } from "../../shared/context.ts";
import { AppError, notFound } from "../../shared/errors.ts";
import { among, inWorkspace, ownRow } from "../../shared/storage/sql.ts";
import type { SourceCommit } from "../builds/contract.ts";
import type { RevisionTrigger } from "./revision-schema.ts";
import { FIRST_STATUS, statusOfCopy } from "./revisions.ts";
import type { RevisionPath } from "./schema.ts";
import { merged } from "./sql.ts";
import type { StoredRevisionConfig } from "./stored.ts";
import { deployments, revisions } from "./table.ts";

export type DeploymentRow = typeof deployments.$inferSelect;
export type RevisionRow = typeof revisions.$inferSelect;

/** Columns of API answers. Excludes those with the agent's configuration and graphs, which may have a megabyte. */
const {
  config: _c,
  config_env: _e,
  graphs: _g,
  descriptors: _d,
  ...shown
} = getTableColumns(revisions);
export const SHOWN_REVISION = shown;
export type ShownRevisionRow = Omit<
  RevisionRow,
  "config" | "config_env" | "graphs" | "descriptors"
>;

const active = alias(revisions, "active");

/** Selects deployments with the names of their secrets, and with summaries of the latest and the active revision. */
export function selectDeployments({ db }: Pick<Context, "db">) {
  return db
    .select({
      ...getTableColumns(deployments),
      latest_revision: summaryColumns(revisions),
      active_revision: summaryColumns(active),
      secrets: sql`(
        select json_group_array(json_object('name', name, 'updated_at', updated_at) order by name)
        from secrets where secrets.deployment_id = ${deployments.id}
      )`.mapWith((text: string): unknown => JSON.parse(text)),
    })
    .from(deployments)
    .leftJoin(revisions, eq(revisions.id, deployments.latest_revision_id))
    .leftJoin(active, eq(active.id, deployments.active_revision_id));
}

function summaryColumns({
  number,
  status,
  status_reason,
  repo_commit_sha,
  created_at,
  updated_at,
}: typeof revisions | typeof active) {
  return { number, status, status_reason, repo_commit_sha, created_at, updated_at };
}

export async function findDeployment(ctx: Context, deployment_id: string): Promise<DeploymentRow> {
  const [row] = await ctx.db
    .select()
    .from(deployments)
    .where(ownRow(ctx, deployments, deployment_id));
  if (!row) throw notFound("Deployment", deployment_id);
  return row;
}

/** Matches a revision of the caller's workspace, unless it is deleted. */
export function ownRevision({ caller }: Context, { deployment_id, revision_id }: RevisionPath) {
  return and(
    eq(revisions.id, revision_id),
    eq(revisions.deployment_id, deployment_id),
    inWorkspace({ caller }, revisions),
    isNull(revisions.deleted_at),
  );
}

export async function findRevision(ctx: Context, path: RevisionPath): Promise<RevisionRow> {
  const { deployment_id, revision_id } = path;
  const [row] = await ctx.db.select().from(revisions).where(ownRevision(ctx, path));
  if (row) return row;
  await findDeployment(ctx, deployment_id);
  throw notFound("Revision", revision_id);
}

export async function findRevisions(
  ctx: Pick<Context, "db"> & { caller: { workspace_id: string } },
  deployment_id: string,
  ids: readonly string[],
): Promise<RevisionRow[]> {
  return ctx.db
    .select()
    .from(revisions)
    .where(
      and(
        eq(revisions.deployment_id, deployment_id),
        inWorkspace(ctx, revisions),
        isNull(revisions.deleted_at),
        among(revisions.id, ids),
      ),
    );
}

export function assertChangeable(deployment: DeploymentRow): void {
  if (deployment.status === "AWAITING_DELETE") throw beingDeleted(deployment);
}

/** Returns the error for a change that a concurrent deletion prevented. @throws AppError when no row is left */
export async function toDeletionError(
  ctx: Context,
  deployment_id: string,
  cause: unknown,
): Promise<AppError> {
  return beingDeleted(await findDeployment(ctx, deployment_id), cause);
}

function beingDeleted({ id }: DeploymentRow, cause?: unknown): AppError {
  const text = `Deployment ${id} is being deleted and cannot change. Its name is free for a new deployment.`;
  return new AppError("conflict", text, { cause });
}

type RevisionInput = {
  now: string;
  trigger: RevisionTrigger;
  changed_secrets?: string[] | null;
  /** Fields of a preview; `null` for other revisions. */
  preview?: StoredRevisionConfig | null;
  /** Commit of a push. The build replaces it by the commit that it fetches. */
  commit?: SourceCommit;
  /** Whether the deployment's row must name the revision as the latest before the insert. */
  isLatest?: boolean;
};

/**
 * Inserts the next revision of a deployment. Reads the deployment's row inside the batch, so that it has the changes of
 * earlier statements. Fails on the NOT NULL constraint when the deployment is being deleted, or when `isLatest` does
 * not hold.
 */
export function insertRevision(
  ctx: Context,
  { id, source }: Pick<DeploymentRow, "id" | "source">,
  revision_id: string,
  input: RevisionInput,
) {
  const { workspace_id } = ctx.caller;
  return insertRevisionOf(ctx.db, { id, source, workspace_id }, revision_id, input);
}

/** Inserts a revision like `insertRevision`, for webhooks, which have no caller. */
export function insertRevisionOf(
  db: Database,
  { id, source, workspace_id }: Pick<DeploymentRow, "id" | "source" | "workspace_id">,
  revision_id: string,
  { now, trigger, changed_secrets = null, preview = null, commit, isLatest = false }: RevisionInput,
) {
  const config = merged(deployments.source_revision_config, preview ?? {});
  const where = isLatest ? sql`and latest_revision_id = ${revision_id}` : sql``;
  return db.insert(revisions).values({
    ...newRevisionColumns(workspace_id, id, revision_id, now),
    source,
    source_revision_config: sql`(
      select ${config} from deployments where id = ${id} and status = 'READY' ${where}
    )`,
    is_preview: preview !== null,
    status: FIRST_STATUS,
    trigger,
    changed_secrets,
    ...commit,
  });
}

const MAX_COPIES = 100;
const COPIES_MS = 60 * 60 * 1000;

/**
 * Limits revisions for each hour. A copy has up to a megabyte and needs no build, so a loop could fill the database.
 */
export async function assertCopyRate({ db }: Context, deployment_id: string): Promise<void> {
  const [row] = await db
    .select({ created_at: revisions.created_at })
    .from(revisions)
    .where(eq(revisions.deployment_id, deployment_id))
    .orderBy(desc(revisions.number))
    .limit(1)
    .offset(MAX_COPIES - 1);
  const room_at_ms = row === undefined ? 0 : Date.parse(row.created_at) + COPIES_MS;
  const retry_after_seconds = Math.ceil((room_at_ms - Date.now()) / 1000);
  if (retry_after_seconds <= 0) return;
  const text = `Deployment ${deployment_id} has ${MAX_COPIES} new revisions in an hour: retry in ${retry_after_seconds} s.`;
  throw new AppError("rate_limited", text, { retry_after_seconds });
}

type CopyInput = Omit<RevisionInput, "preview" | "commit">;

/** Inserts the next revision with the config and the build results of an earlier one. Fails like `insertRevision`. */
export function copyRevision(
  ctx: Context,
  source: RevisionRow,
  revision_id: string,
  { now, trigger, changed_secrets = null, isLatest = false }: CopyInput,
) {
  const where = isLatest ? sql`and latest_revision_id = ${revision_id}` : sql``;
  const { repo_commit_sha, repo_commit_message, repo_commit_authored_at } = source;
  const { artifact_key, artifact_bytes, config, config_env } = source;
  const { graphs, descriptors, deployment_id } = source;
  return ctx.db.insert(revisions).values({
    ...newRevisionColumns(ctx.caller.workspace_id, deployment_id, revision_id, now),
    source: source.source,
    source_revision_config: sql`(
      select ${JSON.stringify(source.source_revision_config)} from deployments
      where id = ${deployment_id} and status = 'READY' ${where}
    )`,
    status: statusOfCopy(source.status),
    trigger,
    changed_secrets,
    ...{ repo_commit_sha, repo_commit_message, repo_commit_authored_at },
    ...{ artifact_key, artifact_bytes, config, config_env, graphs, descriptors },
  });
}

function newRevisionColumns(workspace_id: string, deployment_id: string, id: string, now: string) {
  const newest = sql`select max(number) from revisions where deployment_id = ${deployment_id}`;
  return {
    id,
    workspace_id,
    deployment_id,
    number: sql`1 + coalesce((${newest}), 0)`,
    attempt: 0,
    sent_at: now,
    created_at: now,
    updated_at: now,
  };
}
