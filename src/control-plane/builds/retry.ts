import { backoff, retry } from "../../shared/work/backoff.ts";
import { BuildFailure } from "./failure.ts";
import { REQUEST_ATTEMPTS } from "./limits.ts";

const BACKOFF = { base_ms: 400 };

export function retryTransient<T>(
  call: () => Promise<T>,
  isTransient: (error: unknown) => boolean,
): Promise<T> {
  return retry(call, (error, attempt) =>
    attempt < REQUEST_ATTEMPTS && isTransient(error)
      ? backoff(BACKOFF, attempt, Math.random())
      : null,
  );
}

export function isUnavailable(error: unknown): boolean {
  return error instanceof BuildFailure && error.reason === "source_unavailable";
}
