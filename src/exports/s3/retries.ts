import { S3Error, type S3Problem } from "./problem.ts";

export type RetryLimits = {
  attempts: number;
  base_ms: number;
  max_delay_ms: number;
  /** Attempts and pauses together; no attempt begins after it. */
  total_ms: number;
};

type RetryOptions = {
  limits: RetryLimits;
  signal: AbortSignal | undefined;
  onRetry: ((problem: S3Problem) => void) | undefined;
};

type Failure = {
  /** 1 for the first. */
  attempt: number;
  problem: S3Problem;
  elapsed_ms: number;
};

/** Milliseconds until the next attempt; null: there is none. Full jitter, never before Retry-After. */
export function delayAfter(
  limits: RetryLimits,
  { attempt, problem, elapsed_ms }: Failure,
  random: number,
): number | null {
  if (!problem.is_transient || attempt >= limits.attempts) return null;
  const ceiling = Math.min(limits.max_delay_ms, limits.base_ms * 2 ** (attempt - 1));
  const delay = (problem.retry_after_seconds ?? 0) * 1000 + random * ceiling;
  return elapsed_ms + delay > limits.total_ms ? null : delay;
}

export async function withRetries<T>(
  { limits, signal, onRetry }: RetryOptions,
  run: (attempt: number) => Promise<T>,
): Promise<T> {
  const started = Date.now();
  for (let attempt = 1; ; attempt++) {
    try {
      return await run(attempt);
    } catch (error) {
      if (!(error instanceof S3Error)) throw error;
      const { problem } = error;
      const failure = { attempt, problem, elapsed_ms: Date.now() - started };
      const delay = delayAfter(limits, failure, Math.random());
      if (delay === null) throw error;
      onRetry?.(problem);
      await pause(delay, signal);
    }
  }
}

function pause(ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    signal?.throwIfAborted();
    const stop = () => {
      clearTimeout(timer);
      reject(signal?.reason);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener("abort", stop);
      resolve();
    }, ms);
    signal?.addEventListener("abort", stop, { once: true });
  });
}
