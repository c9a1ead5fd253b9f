/** Maximum crons of a deployment. */
export const MAX_CRONS = 10_000;
/** Size of the database of a deployment's crons at which no cron is created or grows. */
export const MAX_DATABASE_BYTES = 512 * 1024 * 1024;
/** Maximum JSON of the payload and the metadata of a cron together. A row has at most 2 MB with all columns. */
export const MAX_PAYLOAD_CHARACTERS = 512 * 1024;
/** Maximum payloads and metadata of a search result, which is one RPC message of up to 32 MiB. */
export const MAX_ANSWER_CHARACTERS = 12 * 1024 * 1024;
/**
 * Maximum firings of one alarm. The next alarm follows at once. An invocation has 10,000 subrequests, and a firing that
 * starts its run takes up to four of them: its thread, its assistant, its principal and the agent's own auth.
 */
export const FIRINGS = 2000;
/** Maximum firings under way, without the slow ones. */
export const FIRINGS_AT_ONCE = 100;
/**
 * Duration after which a firing does not count for `FIRINGS_AT_ONCE`. So 400 can start in a second, until
 * `IN_FLIGHT_BYTES` are under way.
 */
export const SLOW_MS = 250;
/** Time after which a firing without an answer counts as failed. Its next attempt starts a run with the same id. */
export const DEADLINE_MS = 30_000;
/** Maximum bytes of all firings under way, with the slow ones: payloads and `FIRING_BYTES` for each, so up to 1,024. */
export const IN_FLIGHT_BYTES = 8 * 1024 * 1024;
/** Size of a firing besides its payload: its principal and its requests. */
export const FIRING_BYTES = 8 * 1024;
/** Maximum age of the rights with which a principal starts a run. */
export const RIGHTS_MAX_AGE_MS = 1000;
/** Pauses before a firing that could not start its run is tried again; the last one repeats. */
export const RETRY_MS = [5_000, 15_000, 60_000, 300_000];
