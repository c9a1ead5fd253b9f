/** Batch limits announced to clients. */
const BATCH_SIZE_LIMIT = 500;
const BATCH_SIZE_LIMIT_BYTES = 4 * 1024 * 1024;
/**
 * Limit of an uncompressed request: clients that do not read the announced limit send up to 24 MiB. Parsed, a request
 * of that size and those of `ISOLATE_BUDGET` fit the 128 MB of an isolate.
 */
export const MAX_BODY_BYTES = 24 * 1024 * 1024;
export const MAX_RUNS_PER_BATCH = 5000;
/** Objects and lists of a request. Parsed, each takes many times its characters. */
export const MAX_CONTAINERS = 1_000_000;

/**
 * Longer payloads are stored in R2. A row of SQLite has at most 2 MB, and a run must fit one: four payloads
 * of this size, the merged `extra`, error and tags.
 */
export const MAX_INLINE_BYTES = 250_000;
export const MAX_EXTRA_BYTES = 400_000;

export const MAX_KEYS_PER_RUN = 100;
export const MAX_VALUE_CHARS = 250;
/** Characters of a run's thread, which its row has in a column. */
export const MAX_THREAD_ID = 1000;
/** Characters of a dotted order: 1000 levels. */
export const MAX_DOTTED_ORDER = 64_000;
export const MAX_SEARCH_CHARS = 16_000;
/** Limit of the pairs of a payload. Those of three payloads in R2 fit a row, at three bytes a character. */
export const MAX_PAIRS_CHARS = 200_000;

export const MAX_NAME_CHARS = 1000;
export const MAX_PROJECT_NAME_CHARS = 255;
export const MAX_TAGS = 100;
/** Names and keys of the attachments are in the row of their run. */
export const MAX_ATTACHMENTS = 100;
export const MAX_CONTENT_TYPE_CHARS = 255;
export const MAX_TAG_CHARS = 250;
export const MAX_ERROR_CHARS = 100_000;
export const MAX_FEEDBACK_KEY_CHARS = 180;
/** Characters of the JSON of one feedback. */
export const MAX_FEEDBACK_CHARS = 100_000;

/** Opens the day's next generation of slots beyond either: an object holds 10 GB, and the ids of its runs in memory. */
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
