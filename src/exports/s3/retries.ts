import { backoff, retry } from "../../shared/work/backoff.ts";
import { S3Error, type S3Problem } from "./problem.ts";

export type RetryLimits = {
  attempts: number;
  base_ms: number;
  max_delay_ms: number;
  /** Time from the first attempt after which no attempt begins. */
  total_ms: number;
};

type Failure = {
  /** 1 for the first. */
  attempt: number;
  problem: S3Problem;
  elapsed_ms: number;
};

/**
 * Returns the milliseconds until the next attempt, at least Retry-After.
 * @returns `null` without a next attempt
 */
export function delayAfter(
  limits: RetryLimits,
  { attempt, problem, elapsed_ms }: Failure,
  random: number,
): number | null {
  if (!problem.is_transient || attempt >= limits.attempts) return null;
  const { base_ms, max_delay_ms: max_ms } = limits;
  const jitter = backoff({ base_ms, max_ms }, attempt, random);
  const delay = (problem.retry_after_seconds ?? 0) * 1000 + jitter;
  return elapsed_ms + delay > limits.total_ms ? null : delay;
}

type Retries = { limits: RetryLimits; onRetry?: ((problem: S3Problem) => void) | undefined };

export function withRetries<T>(
  { limits, onRetry }: Retries,
  signal: AbortSignal | undefined,
  run: (attempt: number) => Promise<T>,
): Promise<T> {
  const started = Date.now();
  const delayOf = (error: unknown, attempt: number) => {
    if (!(error instanceof S3Error)) return null;
    const { problem } = error;
    const failure = { attempt, problem, elapsed_ms: Date.now() - started };
    const delay = delayAfter(limits, failure, Math.random());
    if (delay !== null) onRetry?.(problem);
    return delay;
  };
  return retry(run, delayOf, signal);
}
