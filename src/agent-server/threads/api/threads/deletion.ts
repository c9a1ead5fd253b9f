import { ROOT } from "../../../../shared/storage/slots.ts";
import { mapConcurrent } from "../../../../shared/work/chunks.ts";
import { type ListedThread, someThreadsOf } from "../../directory/directory.ts";
import { forgetEntries } from "../../directory/publication.ts";
import { directoryObject } from "../../directory/stub.ts";
import { threadObject } from "../../object/stub.ts";

// Number of threads whose deletions fit into the time of a queue message. Each calls the object, which calls the
// directory.
const BATCH = 200;
const AT_ONCE = 10;

/**
 * Deletes some threads of a deployment, and their directory after the last one.
 * @returns whether all threads are deleted
 */
export async function deleteThreadsOf(env: Env, deployment_id: string): Promise<boolean> {
  const threads = await someThreadsOf(env, deployment_id, { with_temporary: true, limit: BATCH });
  await deleteListed(env, threads);
  if (threads.length === BATCH) return false;
  const end = await directoryObject(env, deployment_id).deleteDirectory(deployment_id, ROOT);
  // A thread that was published after the list was read is deleted by the next step.
  return end !== "used";
}

export async function deleteListed(env: Env, threads: ListedThread[]): Promise<void> {
  await mapConcurrent(threads, AT_ONCE, ({ deployment_id, thread_id }) =>
    threadObject(env, deployment_id, thread_id).deleteThread(),
  );
  // The directory may list a thread that does not exist: its object removes no entry.
  for (const keys of Map.groupBy(threads, ({ slot }) => slot).values())
    await forgetEntries(env, keys);
}
