import { and, eq, getTableColumns, sql } from "drizzle-orm";
import type { Context } from "../shared/context.ts";
import { notFound } from "../shared/errors.ts";
import { FIRST_STATUS } from "./revisions.ts";
import type { RevisionPath } from "./schema.ts";
import { deployments, revisions } from "./table.ts";

export type DeploymentRow = typeof deployments.$inferSelect;
export type RevisionRow = typeof revisions.$inferSelect;

/** The deployment as it is answered: with its secrets' names and its latest commit. */
export function selectDeployments({ db }: Pick<Context, "db">) {
  return db
    .select({
      ...getTableColumns(deployments),
      repo_commit_sha: revisions.repo_commit_sha,
      secrets: sql`(
        select json_group_array(json_object('name', name, 'updated_at', updated_at) order by name)
        from secrets where secrets.deployment_id = ${deployments.id}
      )`.mapWith((text: string): unknown => JSON.parse(text)),
    })
    .from(deployments)
    .leftJoin(revisions, eq(revisions.id, deployments.latest_revision_id));
}

export function isOurs(ctx: Context, deployment_id: string) {
  return and(
    eq(deployments.id, deployment_id),
    eq(deployments.workspace_id, ctx.caller.workspace_id),
  );
}

export async function findDeployment(ctx: Context, deployment_id: string): Promise<DeploymentRow> {
  const [row] = await ctx.db.select().from(deployments).where(isOurs(ctx, deployment_id));
  if (!row) throw notFound("Deployment", deployment_id);
  return row;
}

export async function findRevision(ctx: Context, path: RevisionPath): Promise<RevisionRow> {
  const { deployment_id, revision_id } = path;
  const [row] = await ctx.db
    .select()
    .from(revisions)
    .where(
      and(
        eq(revisions.id, revision_id),
        eq(revisions.deployment_id, deployment_id),
        eq(revisions.workspace_id, ctx.caller.workspace_id),
      ),
    );
  if (row) return row;
  await findDeployment(ctx, deployment_id);
  throw notFound("Revision", revision_id);
}

/** The next revision, frozen from the deployment's row as this very batch left it. Fails once that is being deleted. */
export function insertRevision(
  ctx: Context,
  deployment: Pick<DeploymentRow, "id" | "source">,
  revision_id: string,
  now: string,
) {
  const newest = sql`select max(number) from revisions where deployment_id = ${deployment.id}`;
  return ctx.db.insert(revisions).values({
    id: revision_id,
    workspace_id: ctx.caller.workspace_id,
    deployment_id: deployment.id,
    number: sql`1 + coalesce((${newest}), 0)`,
    source: deployment.source,
    source_revision_config: sql`(
      select source_revision_config from deployments
      where id = ${deployment.id} and status = 'READY'
    )`,
    status: FIRST_STATUS,
    attempt: 0,
    sent_at: now,
    created_at: now,
    updated_at: now,
  });
}
