import { parseRetryAfter } from "../../shared/work/backoff.ts";
import { JITTER, MAX_PAUSE_SECONDS, PAUSES_SECONDS } from "./limits.ts";

/** Result of an attempt. `is_final` ends the retries. */
export type DeliveryOutcome = {
  status: number | null;
  error: string | null;
  is_final: boolean;
  retry_after_seconds: number | null;
};

/**
 * `attempt`: number of the attempt since the last redelivery, from 1 on. `chance`: random number from 0 to 1.
 * @returns seconds until the next attempt, `null` when the outcome is final or no attempts remain
 */
export function pauseAfter(
  attempt: number,
  outcome: DeliveryOutcome,
  chance: number,
): number | null {
  const pause = PAUSES_SECONDS[attempt - 1];
  if (outcome.is_final || pause === undefined) return null;
  const requested = Math.min(outcome.retry_after_seconds ?? 0, MAX_PAUSE_SECONDS);
  return Math.max(pause * (1 - JITTER + 2 * JITTER * chance), requested);
}

/** 2xx is delivered, 410 is final, all other statuses are retried. */
export function outcomeOf(status: number, headers: Headers, now: Date): DeliveryOutcome {
  if (status >= 200 && status < 300) return { ...DELIVERED, status };
  return {
    status,
    error: errorOf(status, headers),
    is_final: status === 410,
    retry_after_seconds: parseRetryAfter(headers.get("retry-after"), now.getTime()),
  };
}

export const DELIVERED: DeliveryOutcome = {
  status: null,
  error: null,
  is_final: true,
  retry_after_seconds: null,
};

/** @returns the outcome of an attempt without a response */
export function failure(error: string, is_final = false): DeliveryOutcome {
  return { status: null, error, is_final, retry_after_seconds: null };
}

function errorOf(status: number, headers: Headers): string {
  const location = headers.get("location");
  if (status < 300 || status >= 400 || location === null) return `The receiver returned ${status}.`;
  return `The receiver returned ${status}: redirects are not followed, use the URL it redirects to.`;
}
