import { mapConcurrent } from "../../../shared/work/chunks.ts";
import { forgetThread, someThreadsOf } from "../directory/directory.ts";
import { threadObject } from "../object/stub.ts";

// Deleting a thread is one call to its object and one row; this many fit a queue message's time.
const BATCH = 200;
const AT_ONCE = 10;

/**
 * Deletes threads of a deployment.
 * @returns whether all are deleted
 */
export async function deleteThreadsOf(env: Env, deployment_id: string): Promise<boolean> {
  const threads = await someThreadsOf(env, deployment_id, BATCH);
  await deleteListed(env, deployment_id, threads);
  return threads.length < BATCH;
}

export async function deleteListed(
  env: Env,
  deployment_id: string,
  threads: { thread_id: string }[],
): Promise<void> {
  await mapConcurrent(threads, AT_ONCE, async ({ thread_id }) => {
    await threadObject(env, deployment_id, thread_id).deleteThread();
    await forgetThread(env, { deployment_id, thread_id });
  });
}
