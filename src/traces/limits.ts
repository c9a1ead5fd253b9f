/** Batch limits announced to clients. */
const BATCH_SIZE_LIMIT = 500;
const BATCH_SIZE_LIMIT_BYTES = 4 * 1024 * 1024;
/**
 * Limit of a request after decompression: clients that do not read the announced limit send up to 24 MiB. Parsed, one
 * such request and those that `ISOLATE_BUDGET` admits beside it fit the 128 MB of an isolate.
 */
export const MAX_BODY_BYTES = 24 * 1024 * 1024;
export const MAX_RUNS_PER_BATCH = 5000;
/** Limit of objects and lists in a request. Parsed, `{}` takes many times the memory of its two characters. */
export const MAX_CONTAINERS = 1_000_000;

/**
 * Size above which a payload is stored in R2. A row of SQLite has at most 2 MB, and a run must fit one: four payloads of
 * this size, the merged `extra` of `MAX_EXTRA_BYTES`, error and tags.
 */
export const MAX_INLINE_BYTES = 250_000;
/** Limit of an `extra` after its merge with the stored one. A larger result is not stored. */
export const MAX_EXTRA_BYTES = 400_000;

/** Limit of the different keys that one change of a run adds to the index. */
export const MAX_KEYS_PER_RUN = 100;
/** Limit of a key and of a value in the index. Longer ones are cut. */
export const MAX_VALUE_CHARS = 250;
/** Limit of a thread's id in characters. Longer ones are cut. */
export const MAX_THREAD_ID = 1000;
/** Limit of a dotted order in characters, for about 1000 levels of 58 characters and a dot. */
export const MAX_DOTTED_ORDER = 64_000;
/** Characters of a payload after which `search` reads no further value. */
export const MAX_SEARCH_CHARS = 16_000;
/** Limit of the characters of a payload's pairs. Three payloads have up to 1.8 MB of them, at three bytes a character. */
export const MAX_PAIRS_CHARS = 200_000;

export const MAX_NAME_CHARS = 1000;
export const MAX_PROJECT_NAME_CHARS = 255;
export const MAX_TAGS = 100;
/** Limit of the attachments of a run, whose row has their names and keys. */
export const MAX_ATTACHMENTS = 100;
export const MAX_CONTENT_TYPE_CHARS = 255;
export const MAX_TAG_CHARS = 250;
export const MAX_ERROR_CHARS = 100_000;
export const MAX_FEEDBACK_KEY_CHARS = 180;
/** Limit of the JSON of one feedback in characters. */
export const MAX_FEEDBACK_CHARS = 100_000;

/** Beyond either limit, a day gets more slots: an object holds 10 GB, and has the ids of all its runs in memory. */
export const MAX_PARTITION_BYTES = 6_000_000_000;
export const MAX_PARTITION_ROWS = 250_000;

export const BATCH_INGEST_CONFIG = {
  use_multipart_endpoint: true,
  scale_up_qsize_trigger: 1000,
  scale_up_nthreads_limit: 4,
  scale_down_nempty_trigger: 4,
  size_limit: BATCH_SIZE_LIMIT,
  size_limit_bytes: BATCH_SIZE_LIMIT_BYTES,
} as const;

export const INSTANCE_FLAGS = {
  gzip_body_enabled: true,
  zstd_compression_enabled: true,
  ch_query_enabled: true,
  sdb_query_enabled: false,
  dataset_examples_multipart_enabled: false,
  examples_multipart_enabled: false,
} as const;
