import { and, asc, desc, eq, lt, sql } from "drizzle-orm";
import { type Context, database } from "../../../shared/context.ts";
import type { Filters } from "../../../shared/filters.ts";
import { among } from "../../../shared/storage/sql.ts";
import { contains, fulfils } from "../containment.ts";
import { digestOf } from "../digest.ts";
import type { ThreadStatus } from "../runs.ts";
import type { DirectoryEntry } from "../storage/listing.ts";
import { threads } from "./table.ts";
import type { ThreadCount, ThreadSearch } from "./thread-schema.ts";

/** Upserts a thread. The greatest sequence wins, in any order of arrival. */
export async function recordThread(env: Env, entry: DirectoryEntry): Promise<void> {
  const { deployment_id, thread_id, workspace_id, seq, ...shown } = entry;
  await database(env)
    .insert(threads)
    .values({ deployment_id, thread_id, workspace_id, seq, ...shown })
    .onConflictDoUpdate({
      target: [threads.deployment_id, threads.thread_id],
      set: { seq, ...shown },
      setWhere: lt(threads.seq, seq),
    });
}

export async function forgetThread(
  env: Env,
  { deployment_id, thread_id }: { deployment_id: string; thread_id: string },
): Promise<void> {
  await database(env)
    .delete(threads)
    .where(and(eq(threads.deployment_id, deployment_id), eq(threads.thread_id, thread_id)));
}

/** Returns threads of a deployment that is being deleted. */
export async function someThreadsOf(env: Env, deployment_id: string, limit: number) {
  return database(env)
    .select({ thread_id: threads.thread_id })
    .from(threads)
    .where(eq(threads.deployment_id, deployment_id))
    .orderBy(sql`thread_id`)
    .limit(limit);
}

type DeploymentRef = { deployment_id: string };

/** Returns matching threads, one more than a page has. */
export async function findThreads(
  ctx: Context,
  ref: DeploymentRef,
  query: ThreadSearch,
  filters: Filters | null,
) {
  const { limit, offset, sort_by = "created_at", sort_order = "desc" } = query;
  const order = sort_order === "asc" ? asc : desc;
  return ctx.db
    .select({
      thread_id: threads.thread_id,
      created_at: threads.created_at,
      updated_at: threads.updated_at,
      state_updated_at: threads.state_updated_at,
      status: threads.status,
      metadata: threads.metadata,
    })
    .from(threads)
    .where(and(matches(ctx, ref, query), fulfils(threads.metadata, filters)))
    .orderBy(order(threads[sort_by]), order(threads.thread_id))
    .limit(limit + 1)
    .offset(offset);
}

export async function countThreadRows(
  ctx: Context,
  ref: DeploymentRef,
  query: ThreadCount,
  filters: Filters | null,
) {
  const [row] = await ctx.db
    .select({ count: sql<number>`count(*)` })
    .from(threads)
    .where(and(matches(ctx, ref, query), fulfils(threads.metadata, filters)));
  return row?.count ?? 0;
}

export type StatusCounts = Record<ThreadStatus, number>;

/** Counts matching threads by status, in one query. */
export async function countByStatus(
  ctx: Context,
  ref: DeploymentRef,
  query: Partial<ThreadCount>,
  filters: Filters | null,
): Promise<StatusCounts> {
  const rows = await ctx.db
    .select({ status: threads.status, count: sql<number>`count(*)` })
    .from(threads)
    .where(and(matches(ctx, ref, query), fulfils(threads.metadata, filters)))
    .groupBy(threads.status);
  const counts = { idle: 0, busy: 0, interrupted: 0, error: 0 };
  for (const { status, count } of rows) counts[status] = count;
  return counts;
}

function isOf({ caller }: Context, { deployment_id }: DeploymentRef) {
  return and(
    eq(threads.deployment_id, deployment_id),
    eq(threads.workspace_id, caller.workspace_id),
    eq(threads.is_temporary, false),
  );
}

function matches(ctx: Context, ref: DeploymentRef, query: Partial<ThreadCount>) {
  const { ids, status, metadata, values } = query;
  return and(
    isOf(ctx, ref),
    ids && among(threads.thread_id, ids),
    status && eq(threads.status, status),
    metadata && contains(threads.metadata, metadata),
    values && contains(threads.digest, digestOf(values)),
  );
}
