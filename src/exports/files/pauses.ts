import { backoff } from "../../shared/work/backoff.ts";
import { RESEND_AFTER_MS } from "../limits.ts";

const BACKOFF = { base_ms: 1000, max_ms: 60_000 };
/** Limit of a server's Retry-After. A longer one counts as this one. */
const MAX_RETRY_AFTER_SECONDS = 3600;
const MAX_PAUSE_MS = 300_000;
/** The pause of an export is the time since it met the obstacle, divided by this number. */
const PAUSE_DIVISOR = 16;

/**
 * Returns the seconds until a file's next attempt: at least Retry-After of the S3 server, up to MAX_RETRY_AFTER_SECONDS.
 */
export function secondsUntilAttempt(
  {
    retry_number,
    retry_after_seconds,
  }: { retry_number: number; retry_after_seconds: number | null },
  random: number,
): number {
  const seconds = backoff(BACKOFF, retry_number + 1, random) / 1000;
  return Math.ceil(Math.max(seconds, cap(retry_after_seconds)));
}

/** Returns the milliseconds until an export is resumed. `elapsed_ms` is the time since it met an obstacle. */
export function pauseAfter(elapsed_ms: number, retry_after_seconds: number | null): number {
  const pause = Math.min(MAX_PAUSE_MS, Math.max(RESEND_AFTER_MS, elapsed_ms / PAUSE_DIVISOR));
  return Math.max(pause, cap(retry_after_seconds) * 1000);
}

function cap(retry_after_seconds: number | null): number {
  return Math.min(MAX_RETRY_AFTER_SECONDS, retry_after_seconds ?? 0);
}
