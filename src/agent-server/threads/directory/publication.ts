import { ROOT } from "../../../shared/storage/slots.ts";
import { Gatherer } from "../../../shared/work/gatherer.ts";
import { learnGeneration } from "../contract/directory-slots.ts";
import type { DirectoryChange, PublishResult } from "./calls.ts";
import type { DirectoryEntry, DirectoryKey } from "./entry.ts";
import { directoryObject } from "./stub.ts";

/** A message of RPC has at most 32 MiB, and a character up to two bytes there. */
const MAX_CALL_CHARACTERS = 4 * 1024 * 1024;
/** Characters of an entry beside its texts. */
const ENTRY_CHARACTERS = 500;

export const DIRECTORY_GATHERING = {
  window_ms: 200,
  poll_ms: 100,
  timeout_ms: 10_000,
  max_size: MAX_CALL_CHARACTERS,
};

/** Threads of one deployment in an isolate share a call. */
const gatherer = new Gatherer<DirectoryChange>(DIRECTORY_GATHERING);

/** Generations that refused entries belong to. Entries of other threads share their calls. */
const refusals = new WeakMap<DirectoryChange, number>();

/**
 * Publishes an entry within the time of the gatherer. Resolves when the directory has it.
 * @returns the generation of another object that must have the entry, `null` when it is published
 */
export async function publishEntry(env: Env, entry: DirectoryEntry): Promise<number | null> {
  const { metadata, digest } = entry;
  await gather(env, entry, metadata.length + (digest?.length ?? 0));
  return refusals.get(entry) ?? null;
}

/** Publishes an entry at once. */
export async function publishEntryNow(env: Env, entry: DirectoryEntry): Promise<number | null> {
  await publishChanges(env, [entry]);
  return refusals.get(entry) ?? null;
}

/** Removes an entry within the time of the gatherer. Resolves when the directory does not have it. */
export function publishRemoval(env: Env, key: DirectoryKey): Promise<void> {
  return gather(env, toRemoval(key), 0);
}

function gather(env: Env, change: DirectoryChange, characters: number): Promise<void> {
  const send = (changes: DirectoryChange[]) => publishChanges(env, changes);
  return gatherer.add(keyOf(change), [change], characters + ENTRY_CHARACTERS, send);
}

/** Read-your-writes within an isolate: each read of the directory begins with it. */
export function flushEntries(env: Env): Promise<void> {
  return gatherer.flush((changes) => publishChanges(env, changes));
}

/** Changes of one object of a directory share calls. */
function keyOf({ deployment_id, slot }: Pick<DirectoryKey, "deployment_id" | "slot">): string {
  return `${deployment_id}/${slot}`;
}

/** Publishes changes of one object of a directory at once. */
export async function publishChanges(env: Env, changes: DirectoryChange[]): Promise<void> {
  const [first] = changes;
  if (!first) return;
  const { deployment_id, slot } = first;
  const directory = directoryObject(env, deployment_id, slot);
  // An object of the version before, which runs on for an hour, answers nothing.
  const published: Partial<PublishResult> | undefined = await directory.publish(changes);
  const { outdated = 0, refused = [], generation = 0 } = published ?? {};
  learnGeneration(deployment_id, generation);
  for (const change of changes)
    if (refused.includes(change.thread_id)) refusals.set(change, generation);
    else refusals.delete(change);
  if (outdated > 0)
    throw new Error(`${outdated} entries of the directory are too old: repeat them`);
}

/** Removes the entry of a thread up to a change of it: its id may be used again. */
export async function forgetThread(env: Env, key: DirectoryKey): Promise<void> {
  const removal = toRemoval(key);
  const { thread_id, seq } = removal;
  gatherer.drop(keyOf(removal), (each) => each.thread_id === thread_id && each.seq <= seq);
  await publishChanges(env, [removal]);
}

/** Removes entries of one object of a directory, whether they have a thread or not. */
export async function forgetEntries(env: Env, keys: Omit<DirectoryKey, "seq">[]): Promise<void> {
  await publishChanges(
    env,
    keys.map((key) => toRemoval({ ...key, seq: Number.MAX_SAFE_INTEGER })),
  );
}

/** A deletion that was stored by an earlier version has no slot. */
function toRemoval({ deployment_id, thread_id, slot = ROOT, seq }: DirectoryKey) {
  return { deployment_id, thread_id, slot, seq, is_removed: true } as const;
}
