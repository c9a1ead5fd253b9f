import { and, asc, desc, eq, isNull, ne, type SQL, sql } from "drizzle-orm";
import { assertMay } from "../../../shared/auth.ts";
import type { Context } from "../../../shared/context.ts";
import { containsText } from "../../../shared/storage/letter-case.ts";
import { among, inWorkspace, ownRow } from "../../../shared/storage/sql.ts";
import { toDeployment, toRevision } from "../answers.ts";
import type { RevisionsList } from "../revision-schema.ts";
import { UNFINISHED } from "../revisions.ts";
import { findDeployment, SHOWN_REVISION, selectDeployments } from "../rows.ts";
import type { DeploymentsList } from "../schema.ts";
import { inStatus } from "../sql.ts";
import { deployments, revisions } from "../table.ts";
import type { DeploymentsQuery, RevisionsQuery } from "./query-schema.ts";

/**
 * Lists the oldest first. A deployment whose full name is `name_contains` comes before all others: published clients
 * search for a full name with this parameter, and read only the first page.
 */
export async function listDeployments(
  ctx: Context,
  query: DeploymentsQuery,
  origin: string,
): Promise<DeploymentsList> {
  assertMay(ctx, "read");
  const { limit, offset } = query;
  const name = query.name_contains?.toLowerCase() ?? "";
  const rows = await selectDeployments(ctx)
    .where(and(inWorkspace(ctx, deployments), ...deploymentFilters(query)))
    .orderBy(
      desc(sql`lower(${deployments.name}) = ${name}`),
      asc(deployments.created_at),
      asc(deployments.id),
    )
    .limit(limit)
    .offset(offset);
  const resources = rows.map((row) => toDeployment(row, ctx.env, origin));
  return { resources, offset: offset + resources.length };
}

/** Returns the ids of the `limit` newest deployments of the workspace, sorted by id. Omits those in deletion. */
export async function deploymentIds({ db, caller }: Context, limit: number): Promise<string[]> {
  const rows = await db
    .select({ id: deployments.id })
    .from(deployments)
    .where(and(inWorkspace({ caller }, deployments), ne(deployments.status, "AWAITING_DELETE")))
    .orderBy(desc(deployments.created_at))
    .limit(limit);
  return rows.map(({ id }) => id).sort();
}

/** Returns the id of a deployment, given this id or that of one of its revisions. @returns `null` for other ids */
export async function deploymentWith(ctx: Context, id: string): Promise<string | null> {
  const own = ownRow(ctx, deployments, id);
  const [deployment] = await ctx.db.select({ id: deployments.id }).from(deployments).where(own);
  if (deployment) return id;
  const [row] = await ctx.db
    .select({ deployment_id: revisions.deployment_id })
    .from(revisions)
    .where(and(ownRow(ctx, revisions, id), isNull(revisions.deleted_at)));
  return row?.deployment_id ?? null;
}

/** Filters that published clients send. No deployment has such a field, so they match nothing. */
const ABSENT_FIELDS = ["tag_value_ids", "image_version", "agent_id", "agent_environment"] as const;

/** Lists deployments in deletion only on request: a new deployment may have the same name. */
function deploymentFilters(query: DeploymentsQuery): (SQL | undefined)[] {
  const { name_contains, status, deployment_type, deployment_ids, remote_reconciled } = query;
  const type = sql`${deployments.source_config} ->> 'deployment_type'`;
  return [
    query.name === undefined ? undefined : eq(deployments.name, query.name),
    name_contains && containsText(deployments.name, name_contains),
    status === undefined
      ? ne(deployments.status, "AWAITING_DELETE")
      : sql`${deployments.status} = ${status}`,
    deployment_type && sql`${type} = ${deployment_type}`,
    deployment_ids && among(deployments.id, deployment_ids),
    isReconciled(remote_reconciled),
    ...ABSENT_FIELDS.map((field) => (query[field] === undefined ? undefined : sql`false`)),
  ].map((filter) => filter || undefined);
}

/** Lists previews only on request: published clients take the first revision for the active one. */
export async function listRevisions(
  ctx: Context,
  deployment_id: string,
  { limit, offset, status, remote_reconciled, include_previews }: RevisionsQuery,
  origin: string,
): Promise<RevisionsList> {
  assertMay(ctx, "read");
  await findDeployment(ctx, deployment_id);
  const rows = await ctx.db
    .select(SHOWN_REVISION)
    .from(revisions)
    .where(
      and(
        eq(revisions.deployment_id, deployment_id),
        inWorkspace(ctx, revisions),
        isNull(revisions.deleted_at),
        include_previews ? undefined : eq(revisions.is_preview, false),
        status && inStatus(revisions.status, status),
        isReconciled(remote_reconciled),
      ),
    )
    .orderBy(desc(revisions.number))
    .limit(limit)
    .offset(offset);
  return {
    resources: rows.map((row) => toRevision(row, ctx.env, origin)),
    offset: offset + rows.length,
  };
}

/** Filters by the status in the joined row of `revisions`, which is the latest revision for a list of deployments. */
function isReconciled(wanted: boolean | undefined): SQL | undefined {
  if (wanted === undefined) return undefined;
  const isBusy = sql`coalesce(${inStatus(revisions.status, UNFINISHED)}, false)`;
  return wanted ? sql`not ${isBusy}` : isBusy;
}
