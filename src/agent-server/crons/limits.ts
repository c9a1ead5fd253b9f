/** Of one deployment. */
export const MAX_CRONS = 1000;
/** What a run is started with lies in one row of 2 MB with the rest of its cron. */
export const MAX_PAYLOAD_CHARACTERS = 512 * 1024;
/** What one search answers with is in memory and in one message, which takes 32 MiB. */
export const MAX_ANSWER_CHARACTERS = 12 * 1024 * 1024;
/** Of one alarm; the next one follows at once. */
export const FIRINGS = 100;
export const FIRINGS_AT_ONCE = 10;
/** Pauses before a firing that could not start its run is tried again; the last one repeats. */
export const RETRY_MS = [5_000, 15_000, 60_000, 300_000];
