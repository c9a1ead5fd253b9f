import { and, asc, eq, type SQL, sql } from "drizzle-orm";
import type { Context } from "../../../shared/context.ts";
import { among } from "../../../shared/storage/sql.ts";
import { threads } from "./table.ts";

export type WaitingPosition = { state_updated_at: string; thread_id: string };
export type WaitingRow = WaitingPosition & {
  deployment_id: string;
  metadata: Record<string, unknown>;
};

/** Limits the deployments that a request resolves. */
const MAX_DEPLOYMENTS = 200;

/** Returns the deployments that have interrupted threads. */
export async function waitingDeployments(ctx: Context): Promise<string[]> {
  const rows = await ctx.db
    .selectDistinct({ deployment_id: threads.deployment_id })
    .from(threads)
    .where(isWaiting(ctx))
    .orderBy(asc(threads.deployment_id))
    .limit(MAX_DEPLOYMENTS);
  return rows.map(({ deployment_id }) => deployment_id);
}

export async function findWaiting(
  ctx: Context,
  deployments: string[],
  { after, limit }: { after: WaitingPosition | null; limit: number },
): Promise<WaitingRow[]> {
  const { deployment_id, thread_id, metadata, state_updated_at } = threads;
  const rows = await ctx.db
    .select({ deployment_id, thread_id, metadata, state_updated_at })
    .from(threads)
    .where(
      and(
        isWaiting(ctx),
        among(deployment_id, deployments),
        after === null
          ? undefined
          : sql`(${state_updated_at}, ${thread_id}) > (${after.state_updated_at}, ${after.thread_id})`,
      ),
    )
    .orderBy(asc(state_updated_at), asc(thread_id))
    .limit(limit);
  return rows.map((row) => ({ ...row, state_updated_at: row.state_updated_at ?? "" }));
}

export function countWaiting(ctx: Context, deployments: string[]): Promise<number> {
  return ctx.db.$count(threads, and(isWaiting(ctx), among(threads.deployment_id, deployments)));
}

/** Literals, because SQLite uses a partial index only for the terms of its condition. */
function isWaiting({ caller }: Context): SQL | undefined {
  return and(
    eq(threads.workspace_id, caller.workspace_id),
    sql`${threads.status} = 'interrupted'`,
    sql`${threads.is_temporary} = 0`,
    sql`${threads.state_updated_at} is not null`,
  );
}
