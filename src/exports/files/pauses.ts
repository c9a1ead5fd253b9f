import { RESEND_AFTER_MS } from "../limits.ts";

const FIRST_RETRY_SECONDS = 1;
const MOST_RETRY_SECONDS = 60;
/** A server may ask for more, but not for the end of the world. */
const MOST_ASKED_SECONDS = 3600;
const MOST_PAUSE_MS = 300_000;
const SHARE = 16;

/** Until a file's next attempt: full jitter over a range that doubles, never sooner than S3 asked for. */
export function secondsUntilAttempt(
  {
    retry_number,
    retry_after_seconds,
  }: { retry_number: number; retry_after_seconds: number | null },
  random: number,
): number {
  const range = Math.min(MOST_RETRY_SECONDS, FIRST_RETRY_SECONDS * 2 ** retry_number);
  return Math.ceil(Math.max(random * range, toAsked(retry_after_seconds)));
}

/** Until an export is carried on again that met an obstacle: a share of the time that it already took. */
export function pauseAfter(elapsed_ms: number, retry_after_seconds: number | null): number {
  const pause = Math.min(MOST_PAUSE_MS, Math.max(RESEND_AFTER_MS, elapsed_ms / SHARE));
  return Math.max(pause, toAsked(retry_after_seconds) * 1000);
}

function toAsked(retry_after_seconds: number | null): number {
  return Math.min(MOST_ASKED_SECONDS, retry_after_seconds ?? 0);
}
