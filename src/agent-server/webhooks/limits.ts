/** Maximum time until a receiver has answered with a status. */
export const ATTEMPT_MS = 15_000;
/** Lease of an attempt. An attempt without a result at the end of its lease counts as lost with its process. */
export const LEASE_MS = ATTEMPT_MS + 5_000;
/**
 * Maximum attempts of a workspace at once. Further ones wait, so that a slow receiver delays only its own workspace.
 */
export const MAX_ATTEMPTS_AT_ONCE = 8;
/** Pauses before further attempts: eleven attempts in about a day, then the delivery fails. */
export const PAUSES_SECONDS = [5, 30, 120, 600, 1_800, 3_600, 7_200, 14_400, 28_800, 28_800];
/** Maximum share by which a pause is longer or shorter, so that failed deliveries do not retry at the same time. */
export const JITTER = 0.1;
/** Upper bound of `Retry-After`. */
export const MAX_PAUSE_SECONDS = 24 * 3_600;
/** Retention of the log of an ended delivery. */
export const LOG_RETENTION_MS = 30 * 24 * 3_600_000;
/** Retention of the log of an exported trace. Shorter, because each run may export a trace. */
export const EXPORT_RETENTION_MS = 24 * 3_600_000;
/** Time for which a replaced secret still signs. */
export const OVERLAP_MS = 24 * 3_600_000;
/** A delivery with this many attempts cannot be redelivered: one row has the log of all its attempts. */
export const MAX_ATTEMPTS = 500;
