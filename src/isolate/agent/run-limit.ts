/** Variable of LangGraph's servers, with the same default as theirs. 0 disables the limit. */
const VARIABLE = "BG_JOB_TIMEOUT_SECS";
const DEFAULT_SECONDS = 3600;
/** Maximum delay of a timer. */
const MAX_MS = 2 ** 31 - 1;

export class RunTimeoutError extends Error {
  override name = "RunTimeoutError";

  constructor(seconds: number) {
    super(
      `The run took longer than ${seconds} seconds, its limit. Set ${VARIABLE} among the ` +
        "deployment's secrets, or in the env of its configuration, to another number; 0 means no limit.",
    );
  }
}

/** Returns the limit in seconds. The default replaces text that is not a number, and negative numbers. */
export function limitOf(env: Record<string, string | undefined>): number {
  const text = env[VARIABLE]?.trim();
  const seconds = text ? Number(text) : Number.NaN;
  return seconds >= 0 ? seconds : DEFAULT_SECONDS;
}

type Limit = {
  /** ISO time of the first attempt: retries do not extend the limit. */
  start: string;
  seconds: number;
  /** Time after the limit in which the work may end by itself. */
  grace_ms?: number;
};

/**
 * Settles like `work` within the limit. At the limit it calls `onLate`, and waits up to `grace_ms` for the work.
 * @throws RunTimeoutError after the limit, also when the work ends in the grace period
 */
export async function withinLimit<T>(
  work: Promise<T>,
  { start, seconds, grace_ms = 0 }: Limit,
  onLate: () => void,
): Promise<T> {
  if (seconds === 0) return work;
  const left = Date.parse(start) + seconds * 1000 - Date.now();
  const late = timer(Math.min(Math.max(left, 0), MAX_MS));
  const first = await Promise.race([work.then((value) => ({ value })), late.promise]).finally(
    late.clear,
  );
  if (first) return first.value;
  onLate();
  const grace = timer(grace_ms);
  await Promise.race([work.catch(() => undefined), grace.promise]).finally(grace.clear);
  throw new RunTimeoutError(seconds);
}

function timer(ms: number): { promise: Promise<null>; clear(): void } {
  const { promise, resolve } = Promise.withResolvers<null>();
  const id = setTimeout(() => resolve(null), ms);
  return { promise, clear: () => clearTimeout(id) };
}

/** Rejects when the signal aborts, at once when it is aborted already. */
export function rejectOnAbort(signal: AbortSignal): Promise<never> {
  return new Promise((_resolve, reject) => {
    const cancel = () => reject(new Error("The run was cancelled."));
    if (signal.aborted) cancel();
    else signal.addEventListener("abort", cancel);
  });
}
