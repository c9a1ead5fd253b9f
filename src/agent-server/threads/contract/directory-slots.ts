import { ROOT, slotOf } from "../../../shared/storage/slots.ts";

const MAX_KNOWN = 1000;

/** Threads of an object that is not of the last generation. `overrides`: by deployment, for tests. */
export const DIRECTORY_SIZE = { max_threads: 500_000, overrides: new Map<string, number>() };

/** Greatest generation by deployment that this isolate has learned. It may have grown since. */
const known = new Map<string, number>();

export function knownGeneration(deployment_id: string): number {
  return known.get(deployment_id) ?? 0;
}

export function learnGeneration(deployment_id: string, generation: number): void {
  // An object of an earlier version knows none.
  if (!(generation > knownGeneration(deployment_id))) return;
  const [oldest] = known.keys();
  if (oldest !== undefined && known.size >= MAX_KNOWN) known.delete(oldest);
  known.set(deployment_id, generation);
}

/** Returns the slot of a new thread. A thread stays there: later generations take later threads. */
export function slotOfNewThread(
  { deployment_id, thread_id }: { deployment_id: string; thread_id: string },
  deleted: { slot?: number } | null,
): number {
  // A deletion that was stored by an earlier version has no slot.
  return deleted ? (deleted.slot ?? ROOT) : slotOf(thread_id, knownGeneration(deployment_id));
}
