/** Bytes of the namespace, the key and the value. A row has at most 2 MB with all columns. */
export const MAX_ITEM_BYTES = 1_900_000;
export const MAX_LABELS = 64;
export const MAX_NAMESPACE_CHARACTERS = 2048;
export const MAX_KEY_CHARACTERS = 2048;
export const MAX_VECTORS = 256;
export const MAX_DIMS = 16_384;
/** Maximum of one page. */
export const MAX_LIMIT = 1000;
export const MAX_OPS = 1000;
/** Operations of one batch of an agent's code; RPC takes 32 MiB a message. */
export const MAX_BATCH_BYTES = 30 * 1024 * 1024;
/** Field names and numbers of an operation or an item in a message. */
export const OVERHEAD_BYTES = 128;
/** Results of one batch, which are one RPC message of up to 32 MiB. */
export const MAX_ANSWER_BYTES = 24 * 1024 * 1024;
/** Answers of the HTTP API up to this size are not counted: no isolate has enough of them to fill its memory. */
export const SMALL_ANSWER_BYTES = 256 * 1024;
/** A hundred years keep every expiry within the range of dates. */
export const MAX_TTL_MS = 100 * 366 * 24 * 60 * 60 * 1000;
/** Maximum time from the expiry of an item, which hides it, to its deletion. */
export const SWEEP_MS = 5 * 60 * 1000;
export const SWEEP_ITEMS = 5000;
/**
 * Size and rate at which an object divides: it may have 10 GB, and answer about 1,000 calls a second. `of`: of a
 * deployment, for tests.
 */
export const STORE_SIZE = {
  max_bytes: 1024 ** 3,
  max_ops_per_s: 500,
  of: new Map<string, { max_bytes?: number; max_ops_per_s?: number }>(),
};
/** Batches of a division that one alarm moves. Each reaches up to 84 objects: four, and those after them that are divided. */
export const MAX_BATCHES = 50;
/** Rows without values of one page that an object sends to a search of all objects. */
export const MAX_FOUND_ROWS = 5000;
/** Namespaces of one page that an object sends to a list of all objects. */
export const MAX_LISTED_ROWS = 1000;
