/** Rows have at most 2 MB with all columns. */
export const MAX_ITEM_BYTES = 1_900_000;
export const MAX_LABELS = 64;
export const MAX_NAMESPACE_CHARACTERS = 2048;
export const MAX_KEY_CHARACTERS = 2048;
export const MAX_VECTORS = 256;
export const MAX_DIMS = 16_384;
/** Maximum of one page. */
export const MAX_LIMIT = 1000;
export const MAX_OPS = 1000;
/** Values and vectors of one batch of an agent's code; RPC takes 32 MiB a message. */
export const MAX_BATCH_BYTES = 32 * 1024 * 1024;
/** Results of one batch, which are one RPC message of up to 32 MiB. */
export const MAX_ANSWER_BYTES = 24 * 1024 * 1024;
/** A hundred years keep every expiry within the range of dates. */
export const MAX_TTL_MS = 100 * 366 * 24 * 60 * 60 * 1000;
/** Maximum time from the expiry of an item, which hides it, to its deletion. */
export const SWEEP_MS = 5 * 60 * 1000;
export const SWEEP_ITEMS = 5000;
