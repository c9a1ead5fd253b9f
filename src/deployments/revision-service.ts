import { and, desc, eq } from "drizzle-orm";
import { assertMay } from "../shared/auth.ts";
import type { Context } from "../shared/context.ts";
import { toRevision } from "./answers.ts";
import { findDeployment, findRevision } from "./rows.ts";
import type { Revision, RevisionPath, RevisionsList, RevisionsQuery } from "./schema.ts";
import { inStatus } from "./sql.ts";
import { revisions } from "./table.ts";

export async function getRevision(ctx: Context, path: RevisionPath): Promise<Revision> {
  assertMay(ctx, "read");
  return toRevision(await findRevision(ctx, path));
}

export async function listRevisions(
  ctx: Context,
  deployment_id: string,
  { limit, offset, status }: RevisionsQuery,
): Promise<RevisionsList> {
  assertMay(ctx, "read");
  await findDeployment(ctx, deployment_id);
  const rows = await ctx.db
    .select()
    .from(revisions)
    .where(
      and(
        eq(revisions.deployment_id, deployment_id),
        eq(revisions.workspace_id, ctx.caller.workspace_id),
        status === undefined ? undefined : inStatus(revisions.status, status),
      ),
    )
    .orderBy(desc(revisions.number))
    .limit(limit)
    .offset(offset);
  return { resources: rows.map(toRevision), offset: offset + rows.length };
}
