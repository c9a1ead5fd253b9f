import { ROOT, slotOf } from "../../../shared/storage/slots.ts";

const MAX_KNOWN = 1000;

/**
 * Maximum threads of an object. Objects of the last generation have no limit. `overrides`: limits by deployment, for
 * tests.
 */
export const DIRECTORY_SIZE = { max_threads: 500_000, overrides: new Map<string, number>() };

/** Greatest generation by deployment that this isolate has learned. The directory may have grown since. */
const known = new Map<string, number>();

export function knownGeneration(deployment_id: string): number {
  return known.get(deployment_id) ?? 0;
}

export function learnGeneration(deployment_id: string, generation: number): void {
  // Objects of an earlier version return no generation: the comparison with `undefined` is false.
  if (!(generation > knownGeneration(deployment_id))) return;
  const [oldest] = known.keys();
  if (oldest !== undefined && known.size >= MAX_KNOWN) known.delete(oldest);
  known.set(deployment_id, generation);
}

/**
 * Returns the slot of a new thread. A thread gets another slot only when the object of its slot is full and refuses it.
 * `deleted`: the deletion of an earlier thread with this id. The new thread keeps its slot.
 */
export function slotOfNewThread(
  { deployment_id, thread_id }: { deployment_id: string; thread_id: string },
  deleted: { slot?: number } | null,
): number {
  // Deletions that an earlier version has stored have no slot.
  return deleted ? (deleted.slot ?? ROOT) : slotOf(thread_id, knownGeneration(deployment_id));
}
