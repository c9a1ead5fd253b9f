import { ROOT } from "../../../shared/storage/slots.ts";
import { Batcher } from "../../../shared/work/batcher.ts";
import { learnGeneration } from "../contract/directory-slots.ts";
import type { LateCancellation } from "../contract/records.ts";
import type { DirectoryChange, PublishResult } from "./calls.ts";
import type { DirectoryEntry, DirectoryKey } from "./entry.ts";
import { directoryObject } from "./stub.ts";

/** At most 8 MiB at two bytes a character, of the 32 MiB that an RPC message may have. */
const MAX_CALL_CHARACTERS = 4 * 1024 * 1024;
/** Estimated characters of an entry besides its metadata and digest. */
const ENTRY_CHARACTERS = 500;

export const DIRECTORY_BATCHING = {
  window_ms: 200,
  poll_ms: 100,
  timeout_ms: 10_000,
  max_size: MAX_CALL_CHARACTERS,
};

/** Threads in an isolate that publish to the same Durable Object share a call. */
const batcher = new Batcher<DirectoryChange>(DIRECTORY_BATCHING);

/**
 * Outcome for an entry. `move_to`: `null` when the directory has it. A full object refuses new threads: `move_to` is
 * then the generation to which the thread moves before it publishes again.
 */
export type Publication = { move_to: number | null; cancellations: LateCancellation[] };

/** Results by entry: a call has the entries of many threads. */
const publications = new WeakMap<DirectoryChange, Publication>();

/** Publishes an entry in the next batch. Resolves when the directory has answered. */
export async function publishEntry(env: Env, entry: DirectoryEntry): Promise<Publication> {
  const { metadata, digest } = entry;
  await addToBatch(env, entry, metadata.length + (digest?.length ?? 0));
  return publicationOf(entry);
}

/** Publishes an entry at once. Returns the same as `publishEntry`. */
export async function publishEntryNow(env: Env, entry: DirectoryEntry): Promise<Publication> {
  await publishChanges(env, [entry]);
  return publicationOf(entry);
}

function publicationOf(entry: DirectoryEntry): Publication {
  return publications.get(entry) ?? { move_to: null, cancellations: [] };
}

/** Removes an entry in the next batch. Resolves when the directory has removed it. */
export function publishRemoval(env: Env, key: DirectoryKey): Promise<void> {
  return addToBatch(env, toRemoval(key), 0);
}

function addToBatch(env: Env, change: DirectoryChange, characters: number): Promise<void> {
  const send = (changes: DirectoryChange[]) => publishChanges(env, changes);
  return batcher.add(keyOf(change), [change], characters + ENTRY_CHARACTERS, send);
}

/** Sends the open batches of this isolate. Each read of the directory begins with it, for read-your-writes. */
export function flushEntries(env: Env): Promise<void> {
  return batcher.flush((changes) => publishChanges(env, changes));
}

/** Changes of one Durable Object share calls. */
function keyOf({ deployment_id, slot }: Pick<DirectoryKey, "deployment_id" | "slot">): string {
  return `${deployment_id}/${slot}`;
}

/** Publishes changes of one Durable Object at once. @throws Error when it refuses entries for their age */
export async function publishChanges(env: Env, changes: DirectoryChange[]): Promise<void> {
  const [first] = changes;
  if (!first) return;
  const { deployment_id, slot } = first;
  const directory = directoryObject(env, deployment_id, slot);
  // After a release an object may still run an earlier version, which returns fewer fields or nothing.
  const published: Partial<PublishResult> | undefined = await directory.publish(changes);
  const { outdated = 0, refused = [], generation = 0, cancellations = [] } = published ?? {};
  learnGeneration(deployment_id, generation);
  for (const change of changes) {
    const move_to = refused.includes(change.thread_id) ? generation : null;
    publications.set(change, { move_to, cancellations });
  }
  if (outdated > 0)
    throw new Error(`${outdated} entries of the directory are too old: repeat them`);
}

/** Removes the entry of a thread at once. Drops its unsent changes up to `seq`: later ones are of a new thread. */
export async function forgetThread(env: Env, key: DirectoryKey): Promise<void> {
  const removal = toRemoval(key);
  const { thread_id, seq } = removal;
  batcher.drop(keyOf(removal), (each) => each.thread_id === thread_id && each.seq <= seq);
  await publishChanges(env, [removal]);
}

/** Removes entries of one Durable Object at once, whatever their `seq`. */
export async function forgetEntries(env: Env, keys: Omit<DirectoryKey, "seq">[]): Promise<void> {
  await publishChanges(
    env,
    keys.map((key) => toRemoval({ ...key, seq: Number.MAX_SAFE_INTEGER })),
  );
}

/** Deletions that an earlier version has stored have no slot. */
function toRemoval({ deployment_id, thread_id, slot = ROOT, seq }: DirectoryKey) {
  return { deployment_id, thread_id, slot, seq, is_removed: true } as const;
}
