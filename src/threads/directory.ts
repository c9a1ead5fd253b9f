import { and, eq, lt, sql } from "drizzle-orm";
import { database } from "../shared/context.ts";
import type { DirectoryEntry } from "./storage/thread.ts";
import { threads } from "./table.ts";

/** Writes what a thread says of itself into D1. A later sequence wins, whatever arrives last. */
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

/** Some threads of a deployment, for its deletion. */
export async function someThreadsOf(env: Env, deployment_id: string, limit: number) {
  return database(env)
    .select({ thread_id: threads.thread_id })
    .from(threads)
    .where(eq(threads.deployment_id, deployment_id))
    .orderBy(sql`thread_id`)
    .limit(limit);
}
