import type { ThreadStore } from "../storage/store.ts";

/** Time in which readers of a temporary thread can reconnect after its run. */
export const GRACE_PERIOD_MS = 2 * 60 * 1000;
/**
 * Grace period of a thread with a run of a cron or of a request with an idempotency key. A repeated request finds the
 * run, so that it starts only once.
 */
const REPEAT_GRACE_PERIOD_MS = 24 * 60 * 60 * 1000;
/**
 * Maximum time after the grace period that a deletion waits for undelivered traces and the directory. It waits for
 * webhooks without a limit.
 */
const MAX_DELETION_DELAY_MS = 24 * 60 * 60 * 1000;

/**
 * Whether a thread that has ended can be deleted: no webhook is pending, and its grace period has passed. Undelivered
 * traces and the directory extend that period.
 */
export function isDeletable(store: ThreadStore): boolean {
  const ended_at = store.thread.endedAt();
  if (ended_at === null || store.webhooks.hasPending) return false;
  const delay = hasUndelivered(store) ? MAX_DELETION_DELAY_MS : 0;
  return ended_at + gracePeriodMs(store) + delay <= Date.now();
}

/**
 * Returns when the alarm deletes a temporary thread that has ended: after the grace period, or a day later if webhooks,
 * traces or the directory are not up to date then.
 * @returns `null` before the end of the thread, and when they are still not up to date after that day: each later alarm
 * tries again
 */
export function deletionAt(store: ThreadStore, now: number): number | null {
  const ended_at = store.thread.endedAt();
  if (ended_at === null) return null;
  const at = ended_at + gracePeriodMs(store);
  if (at > now || !(store.webhooks.hasPending || hasUndelivered(store))) return at;
  return at + MAX_DELETION_DELAY_MS > now ? at + MAX_DELETION_DELAY_MS : null;
}

/**
 * Whether a thread has ended and delivered everything, and no repeated request can look for its run. Such a thread can
 * leave its object before it is deleted.
 */
export function isAtRest(store: ThreadStore): boolean {
  if (store.thread.endedAt() === null || store.webhooks.hasPending || hasUndelivered(store))
    return false;
  return gracePeriodMs(store) === GRACE_PERIOD_MS && store.runs.withOpenTrace().length === 0;
}

function hasUndelivered({ traces, thread }: ThreadStore): boolean {
  return traces.hasPending || thread.listing.isPublished;
}

function gracePeriodMs({ runs, thread }: ThreadStore): number {
  const isRepeatable = thread.outline().metadata.cron_id !== undefined || runs.hasKeyed();
  return isRepeatable ? REPEAT_GRACE_PERIOD_MS : GRACE_PERIOD_MS;
}
