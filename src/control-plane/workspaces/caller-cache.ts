import { changeFeed } from "../../shared/changes/change-feed.ts";
import { RecordCache } from "../../shared/changes/record-cache.ts";
import type { Caller } from "../../shared/context.ts";
import type { AppError } from "../../shared/errors.ts";

/** `ends_at_ms`: time at which the credential expires, in epoch milliseconds; `Infinity` when it does not. */
export type CachedCaller = { caller: Caller; ends_at_ms: number };

/**
 * Maximum age of the last poll for changes when a cached caller is used. Streams check their caller each 4 seconds, so
 * a revocation takes effect within 10 seconds.
 */
export const CALLER_AGE_MS = 4000;
/**
 * Cached callers are accepted this long while D1 does not answer. A key that was revoked just before the outage may be
 * among them; no key can be revoked during it.
 */
const MAX_OUTAGE_MS = 5 * 60 * 1000;

/** `answer` may be a refusal, which is cached too: an outage must not turn it into an accepted principal. */
export type CachedPrincipal = {
  organization_id: string;
  answer: Caller | AppError;
  ends_at_ms: number;
};

const OPTIONS = {
  max_age_ms: CALLER_AGE_MS,
  max_outage_ms: MAX_OUTAGE_MS,
  /** Keys are read each minute, so that their last use is recorded, and tokens are verified again. */
  life_ms: 60_000,
  endOf: ({ ends_at_ms }: { ends_at_ms: number }) => ends_at_ms,
};

/** Callers by credential and tenant. The key is the credential itself: hashing costs more than the look-up. */
export const callers = new RecordCache<CachedCaller>({
  ...OPTIONS,
  scopeOf: ({ caller }) => caller.organization_id,
});
/** Principals of earlier requests, with the role that they have now. Each read gives its own maximum age. */
export const principals = new RecordCache<CachedPrincipal>({
  ...OPTIONS,
  scopeOf: ({ organization_id }) => organization_id,
});

/**
 * Called after each change of an existing key, a member or a session, and after an accepted invitation. Other isolates
 * poll D1, where triggers record changes of keys, members and sessions.
 */
export function forgetCallers(): void {
  callers.forget(() => true);
  principals.forget(() => true);
  changeFeed.noteChanges(null);
}

/** Returns the earliest of the ISO times in epoch milliseconds, `Infinity` when all are `null`. */
export function endOf(times: readonly (string | null)[]): number {
  return Math.min(...times.map((at) => (at === null ? Number.POSITIVE_INFINITY : Date.parse(at))));
}
