import { and, eq } from "drizzle-orm";
import { database } from "../../../shared/context.ts";
import { temporary_threads } from "./table.ts";

type Listed = typeof temporary_threads.$inferInsert;
type Place = { deployment_id: string; thread_id: string };

/** Twice does no harm. */
export async function listTemporary(env: Env, row: Listed): Promise<void> {
  await database(env).insert(temporary_threads).values(row).onConflictDoNothing();
}

export async function forgetTemporary(
  env: Env,
  { deployment_id, thread_id }: Place,
): Promise<void> {
  await database(env).delete(temporary_threads).where(isThread({ deployment_id, thread_id }));
}

/** Some of a deployment, for its deletion. */
export async function someTemporaryOf(env: Env, deployment_id: string, limit: number) {
  return database(env)
    .select({ thread_id: temporary_threads.thread_id })
    .from(temporary_threads)
    .where(eq(temporary_threads.deployment_id, deployment_id))
    .limit(limit);
}

function isThread({ deployment_id, thread_id }: Place) {
  const { deployment_id: deployment, thread_id: thread } = temporary_threads;
  return and(eq(deployment, deployment_id), eq(thread, thread_id));
}
