// Limits up to MAX_BYTES_PER_FILE are returned by `GET /api/v1/bulk-exports/limits`.
export const EXPORT_TIMEOUT_HOURS = 72;

// Limits of each workspace:
export const MAX_FILES_AT_ONCE = 45;
export const MAX_ACTIVE_EXPORTS = 15;
export const MAX_SCHEDULES = 200;
export const MAX_CREATES_PER_HOUR = 250;

export const MIN_INTERVAL_HOURS = 1;
export const MAX_INTERVAL_HOURS = 168;
/** UTC days in the range of an export: twenty years. */
export const MAX_DAYS = 7320;
export const MAX_RETRIES_PER_FILE = 20;
/** Delay after a schedule's window, for runs that arrive late. */
export const SPAWN_DELAY_MINUTES = 10;
export const MAX_ROWS_PER_FILE = 250_000;
/** Planned size of the rows, before compression. The plan multiplies the rows by the average size of a run. */
export const MAX_BYTES_PER_FILE = 128 * 1024 * 1024;

/** Creates per hour that schedules cannot use. */
export const RESERVED_CREATES_PER_HOUR = 50;
export const MAX_IDEMPOTENCY_KEY_CHARS = 255;

/** S3 requires parts of 5 MiB or more; R2 requires equal parts, except the last. */
export const PART_BYTES = 8 * 1024 * 1024;
export const PARTS_IN_FLIGHT = 2;
/** Maximum size of a page of rows that a writer reads from a partition. A page of one row may be larger. */
export const PAGE_BYTES = 4 * 1024 * 1024;

/**
 * Memory of a writer by its rows. A row group has at most 10,000 rows. Its writer takes up to 95 MB of the 128 MB of an
 * isolate. A file with more row groups takes no more memory.
 */
export const WRITER_BYTES_PER_ROW = 10_000;
/** Memory by the bytes of the rows: they are in a page, in the row group, compressed, and in a part of the upload. */
export const WRITER_BYTES_PER_BYTE = 4;
/** Memory of the client, the hashes and the columns of a file with few rows. */
export const MIN_WRITER_BYTES = 1_000_000;
export const MAX_WRITER_BYTES = 95_000_000;
/** Memory of all writers of small files in an isolate together. */
export const SMALL_WRITERS_BYTES = 16_000_000;

/** A consumer without a heartbeat for this long is dead. */
export const LEASE_MS = 10_000;
/** Time after which every writer of an ended export has stopped. */
export const LAST_WRITES_MS = 2 * LEASE_MS;
export const HEARTBEAT_MS = 3000;
/** Age at which a message counts as lost. Duplicates are harmless. */
export const RESEND_AFTER_MS = 10_000;
