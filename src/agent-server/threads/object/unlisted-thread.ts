import { log } from "../../../shared/log.ts";
import { deletionOf } from "../../../shared/storage/object-tables.ts";
import type { DirectoryKey } from "../directory/entry.ts";
import { forgetThread } from "../directory/publication.ts";
import type { ThreadStore } from "./storage/store.ts";

/** Delay of the alarm that deletes the directory entry when the first attempt has failed. */
const RETRY_MS = 15_000;

/**
 * Deletes a thread that the directory may have. The mark and the alarm precede the deletion of the entry, so that a
 * crash leaves no entry without its thread.
 */
export async function deleteListed(
  storage: DurableObjectStorage,
  env: Env,
  store: ThreadStore,
): Promise<void> {
  store.markDeleted();
  void storage.setAlarm(Date.now() + RETRY_MS);
  await unlistDeleted(storage, env, store).catch((error: unknown) =>
    log.error("directory_write_failed", error),
  );
}

/** Deletes the entry and the storage of a deleted thread, or the storage of an object whose last thread has left it. */
export async function unlistDeleted(
  storage: DurableObjectStorage,
  env: Env,
  store: ThreadStore,
): Promise<void> {
  const thread = deletionOf<DirectoryKey>(storage);
  if (thread === null) return store.isVacant ? store.deleteAll() : undefined;
  await forgetThread(env, thread);
  // A new thread may have the id since the call.
  if (!store.exists) await store.deleteAll();
}
