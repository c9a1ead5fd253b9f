import { expect, test } from "vitest";
import { pauseAfter, secondsUntilAttempt } from "../../src/exports/files/pauses.ts";

test.each([
  [0, null, 0, 0],
  [0, null, 0.99, 1],
  [3, null, 0.5, 4],
  [20, null, 1, 60],
  [0, 7, 0.5, 7],
  [5, 7, 1, 32],
  [0, 10 ** 9, 0.5, 3600],
])(
  "retry %i of a file with Retry-After %j and chance %f waits %i s",
  (retry_number, retry_after_seconds, random, seconds) => {
    expect(secondsUntilAttempt({ retry_number, retry_after_seconds }, random)).toBe(seconds);
  },
);

test.each([
  [0, null, 10_000],
  [1_600_000, null, 100_000],
  [10 ** 9, null, 300_000],
  [0, 60, 60_000],
  [0, 10 ** 9, 3_600_000],
])(
  "an obstacle met for %i ms, of %j s, is met again after %i ms",
  (elapsed_ms, retry_after_seconds, ms) => {
    expect(pauseAfter(elapsed_ms, retry_after_seconds)).toBe(ms);
  },
);
