/** Maximum of a deployment. */
export const MAX_CRONS = 10_000;
/** Maximum size of the crons of a deployment and their firings, at which no cron is created. */
export const MAX_DATABASE_BYTES = 512 * 1024 * 1024;
/** Maximum of the payload and the metadata of a cron together. A row has at most 2 MB with all columns. */
export const MAX_PAYLOAD_CHARACTERS = 512 * 1024;
/** Limit of a search result, which is one RPC message of up to 32 MiB. */
export const MAX_ANSWER_CHARACTERS = 12 * 1024 * 1024;
/**
 * Maximum of one alarm. The next alarm follows at once. An invocation has 10,000 subrequests, of which a firing that
 * starts its run takes up to four: its thread, its assistant, its principal and the agent's own auth.
 */
export const FIRINGS = 2000;
/** Firings under way, without the slow ones. */
export const FIRINGS_AT_ONCE = 100;
/** A slower firing no longer counts for `FIRINGS_AT_ONCE`: 400 a second start, until `IN_FLIGHT_BYTES` are under way. */
export const SLOW_MS = 250;
/** A firing without an answer is tried again. The run of both attempts has the same id. */
export const DEADLINE_MS = 30_000;
/** Payloads of all firings under way, the slow ones included, with `FIRING_BYTES` for each: at most 1,024 firings. */
export const IN_FLIGHT_BYTES = 8 * 1024 * 1024;
/** Size of a firing besides its payload: its principal and its requests. */
export const FIRING_BYTES = 8 * 1024;
/** Maximum age of the rights of a principal. Each alarm begins with current ones. */
export const RIGHTS_MAX_AGE_MS = 1000;
/** Pauses before a firing that could not start its run is tried again; the last one repeats. */
export const RETRY_MS = [5_000, 15_000, 60_000, 300_000];
