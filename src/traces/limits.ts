/** What clients are told to keep to, and what a request may weigh at most, unpacked. */
const BATCH_SIZE_LIMIT = 500;
const BATCH_SIZE_LIMIT_BYTES = 20_971_520;
export const MAX_BODY_BYTES = 40 * 1024 * 1024;
export const MAX_RUNS_PER_BATCH = 5000;

/**
 * A row of SQLite holds 2 MB at most, and requests bring a run's fields one after the other: four payloads of
 * this size, extra that grows by merging, error, tags and the text for search fit it together.
 */
export const MAX_INLINE_BYTES = 250_000;
export const MAX_EXTRA_BYTES = 400_000;

/** Search by key and value sees this much of a run. */
export const MAX_KEYS_PER_RUN = 100;
export const MAX_VALUE_CHARS = 250;
export const MAX_SEARCH_CHARS = 16_000;
/** Of metadata, inputs and outputs each, as JSON: the three fit a row, with three bytes a character. */
export const MAX_PAIRS_CHARS = 200_000;

export const MAX_NAME_CHARS = 1000;
export const MAX_TAGS = 100;
export const MAX_TAG_CHARS = 250;
export const MAX_ERROR_CHARS = 100_000;
export const MAX_FEEDBACK_KEY_CHARS = 180;
export const MAX_FEEDBACK_BYTES = 100_000;

/** Past this the next slot of the day is opened; an object holds 10 GB. */
export const MAX_PARTITION_BYTES = 6_000_000_000;

export const BATCH_INGEST_CONFIG = {
  use_multipart_endpoint: true,
  scale_up_qsize_trigger: 1000,
  scale_up_nthreads_limit: 16,
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
