/** Timeout from the first byte sent to the status read. */
export const ATTEMPT_MS = 15_000;
/** An attempt without a result after this time counts as lost with its process. */
export const LEASE_MS = ATTEMPT_MS + 5_000;
/** Attempts of a workspace at once. Further ones wait for these, so that a slow receiver delays its own workspace alone. */
export const MAX_ATTEMPTS_AT_ONCE = 8;
/** Pauses before further attempts: eleven attempts in about a day, then the delivery fails. */
export const PAUSES_SECONDS = [5, 30, 120, 600, 1_800, 3_600, 7_200, 14_400, 28_800, 28_800];
/** Share of a pause that is random, so that failed deliveries do not retry at the same time. */
export const JITTER = 0.1;
/** Upper bound of `Retry-After`. */
export const MAX_PAUSE_SECONDS = 24 * 3_600;
/** Retention of the log of an ended delivery. */
export const LOG_RETENTION_MS = 30 * 24 * 3_600_000;
/** Retention of the log of exported traces: there is one for each run. */
export const EXPORT_RETENTION_MS = 24 * 3_600_000;
/** Time in which a replaced secret signs too. */
export const OVERLAP_MS = 24 * 3_600_000;
/** A delivery with this many attempts cannot be redelivered: its log is one row. */
export const MAX_ATTEMPTS = 500;
