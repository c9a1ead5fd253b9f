type Backoff = { base_ms: number; max_ms?: number };

/**
 * Returns the milliseconds before the next attempt, with full jitter: any time up to a bound, which doubles each time.
 * `attempt` is 1 for the first, `random` is 0 to 1.
 */
export function backoff(
  { base_ms, max_ms = Number.POSITIVE_INFINITY }: Backoff,
  attempt: number,
  random: number,
): number {
  return random * Math.min(max_ms, base_ms * 2 ** (attempt - 1));
}

/**
 * Returns the seconds that a Retry-After header names, as a number or a date (RFC 9110, section 10.2.3).
 * @returns `null` without a valid header
 */
export function parseRetryAfter(header: string | null, now: number): number | null {
  if (header === null) return null;
  if (/^\d+$/.test(header.trim())) return Number(header);
  const at = Date.parse(header);
  return Number.isNaN(at) ? null : Math.max(0, Math.ceil((at - now) / 1000));
}

/** Repeats a call until it succeeds or `delayOf` returns `null` for its error. Only for calls that may run twice. */
export async function retry<T>(
  call: (attempt: number) => Promise<T>,
  delayOf: (error: unknown, attempt: number) => number | null,
  signal?: AbortSignal,
): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await call(attempt);
    } catch (error) {
      const delay = delayOf(error, attempt);
      if (delay === null) throw error;
      await pause(delay, signal);
    }
  }
}

/** Waits, or throws the signal's reason as soon as it is aborted. */
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
