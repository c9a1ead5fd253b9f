/** UTF-8 bytes of the namespace, the key and the value. A row has at most 2 MB with all columns. */
export const MAX_ITEM_BYTES = 1_900_000;
export const MAX_LABELS = 64;
export const MAX_NAMESPACE_CHARACTERS = 2048;
export const MAX_KEY_CHARACTERS = 2048;
export const MAX_VECTORS = 256;
export const MAX_DIMS = 16_384;
/** Maximum items or namespaces of one page. */
export const MAX_LIMIT = 1000;
export const MAX_OPS = 1000;
/** Maximum size of the operations of one batch, which are one RPC message of up to 32 MiB. */
export const MAX_BATCH_BYTES = 30 * 1024 * 1024;
/** Estimated bytes of the field names and numbers of an operation or an item in a message. */
export const OVERHEAD_BYTES = 128;
/** Maximum size of the results of one batch, which are one RPC message of up to 32 MiB. */
export const MAX_ANSWER_BYTES = 24 * 1024 * 1024;
/** Results for the HTTP API up to this size need no admission: no isolate has enough of them to fill its memory. */
export const SMALL_ANSWER_BYTES = 256 * 1024;
/** A hundred years keep every expiry within the range of dates. */
export const MAX_TTL_MS = 100 * 366 * 24 * 60 * 60 * 1000;
/**
 * Time from the earliest expiry of an item to the alarm that deletes expired items. Reads hide an item from its expiry
 * on.
 */
export const SWEEP_MS = 5 * 60 * 1000;
export const SWEEP_ITEMS = 5000;
/**
 * Size and rate at which an object divides. The platform allows 10 GB, and about 1,000 calls a second. `of`: other
 * values by deployment, for tests.
 */
export const STORE_SIZE = {
  max_bytes: 1024 ** 3,
  max_ops_per_s: 500,
  of: new Map<string, { max_bytes?: number; max_ops_per_s?: number }>(),
};
/**
 * Maximum batches of a division that one alarm moves. Each reaches up to 84 objects: four child slots, and the
 * descendants of those that are divided.
 */
export const MAX_BATCHES = 50;
/** Maximum rows, without values, that an object sends at once to a search of all objects. */
export const MAX_FOUND_ROWS = 5000;
/** Maximum namespaces that an object sends at once to a list of all objects. */
export const MAX_LISTED_ROWS = 1000;
