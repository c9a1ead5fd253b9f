/** Maximum of a deployment. */
export const MAX_CRONS = 1000;
/** Rows have at most 2 MB with all columns. */
export const MAX_PAYLOAD_CHARACTERS = 512 * 1024;
/** Limit of a search result, which is one RPC message of up to 32 MiB. */
export const MAX_ANSWER_CHARACTERS = 12 * 1024 * 1024;
/** Maximum of one alarm. The next alarm follows at once. */
export const FIRINGS = 100;
export const FIRINGS_AT_ONCE = 10;
/** Pauses before a firing that could not start its run is tried again; the last one repeats. */
export const RETRY_MS = [5_000, 15_000, 60_000, 300_000];
