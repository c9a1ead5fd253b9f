import { TestRunner, vi } from "vitest";

/** The timeout of a test that sets none, as in vitest.config.ts. */
const TEST_MS = 60_000;
/** Ends a wait before its test, so that the failed check is reported. */
const MARGIN_MS = 10_000;

type Pace = { interval?: number };

/**
 * Repeats a check until it does not throw, and returns its result. Throws the last error shortly before the timeout of
 * the test: a busy machine must not decide a test.
 */
export function eventually<T>(check: () => T | Promise<T>, pace: Pace = {}): Promise<T> {
  return vi.waitFor(check, { timeout: patience(), ...pace });
}

/** Repeats a condition until it holds. Unlike `eventually`, it fails at once when the condition throws. */
export function eventuallyTrue<T>(condition: () => T | Promise<T>, pace: Pace = {}): Promise<T> {
  return vi.waitUntil(condition, { timeout: patience(), ...pace });
}

function patience(): number {
  return (TestRunner.getCurrentTest()?.timeout ?? TEST_MS) - MARGIN_MS;
}
