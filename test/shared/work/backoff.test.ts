import { describe, expect, it, test } from "vitest";
import { backoff, parseRetryAfter, retry } from "../../../src/shared/work/backoff.ts";

test.each([
  { attempt: 1, random: 1, delay: 100 },
  { attempt: 2, random: 1, delay: 200 },
  { attempt: 3, random: 1, delay: 300 },
  { attempt: 100, random: 0.5, delay: 150 },
  { attempt: 3, random: 0, delay: 0 },
])("backoff waits $delay ms after attempt $attempt with chance $random", (example) => {
  const { attempt, random, delay } = example;
  expect(backoff({ base_ms: 100, max_ms: 300 }, attempt, random)).toBe(delay);
});

test("backoff without a bound doubles with each attempt", () => {
  expect(backoff({ base_ms: 1 }, 21, 1)).toBe(2 ** 20);
});

test.each([
  [null, null],
  ["", null],
  ["soon", null],
  ["0", 0],
  [" 3 ", 3],
  ["12345678901", 12_345_678_901],
  ["Sat, 21 Nov 2026 10:00:05 GMT", 5],
  ["Sat, 21 Nov 2026 09:00:00 GMT", 0],
])("Retry-After %j is %j seconds", (header, seconds) => {
  expect(parseRetryAfter(header, Date.UTC(2026, 10, 21, 10))).toBe(seconds);
});

describe("retry", () => {
  const lost = new Error("lost");

  it("repeats a failed call while there is a delay", async () => {
    const failures: [unknown, number][] = [];
    const result = await retry(
      async (attempt) => {
        if (attempt < 3) throw lost;
        return attempt;
      },
      (error, attempt) => {
        failures.push([error, attempt]);
        return 0;
      },
    );
    expect(result).toBe(3);
    expect(failures).toEqual([
      [lost, 1],
      [lost, 2],
    ]);
  });

  it("throws the error that has no delay", async () => {
    const call = () => Promise.reject(lost);
    await expect(retry(call, (_error, attempt) => (attempt < 3 ? 0 : null))).rejects.toBe(lost);
  });

  it("stops waiting when its signal is aborted", async () => {
    const stop = new AbortController();
    const result = retry(
      () => Promise.reject(lost),
      () => 60_000,
      stop.signal,
    );
    await scheduler.wait(1);
    stop.abort(new Error("stopped"));
    await expect(result).rejects.toThrow("stopped");
  });

  it("does not wait when its signal was aborted before", async () => {
    const signal = AbortSignal.abort(new Error("stopped"));
    const result = retry(
      () => Promise.reject(lost),
      () => 60_000,
      signal,
    );
    await expect(result).rejects.toThrow("stopped");
  });
});
