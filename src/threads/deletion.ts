import { forgetThread, someThreadsOf } from "./directory.ts";
import { threadObject } from "./stub.ts";

// Deleting a thread is one call to its object and one row; this many fit a queue message's time.
const BATCH = 200;

/** Deletes threads of a deployment; true once there are none left. */
export async function deleteThreadsOf(env: Env, deployment_id: string): Promise<boolean> {
  const threads = await someThreadsOf(env, deployment_id, BATCH);
  for (const { thread_id } of threads) {
    await threadObject(env, deployment_id, thread_id).deleteThread();
    await forgetThread(env, { deployment_id, thread_id });
  }
  return threads.length < BATCH;
}
