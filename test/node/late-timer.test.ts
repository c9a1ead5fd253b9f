import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { LateTimer } from "../../src/isolate/tcp/late-timer.ts";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

/** The module takes the timers of the runtime when it loads. */
async function loadTimer(): Promise<typeof LateTimer> {
  vi.resetModules();
  return (await import("../../src/isolate/tcp/late-timer.ts")).LateTimer;
}

test("a timer that fires is released by each call that holds it", async () => {
  const Timer = await loadTimer();
  let fired = 0;
  const timer = new Timer(() => (fired += 1), 10, []);
  const [first, second] = [new Set<LateTimer>(), new Set<LateTimer>()];
  timer.joinTo(first);
  timer.joinTo(second);
  timer.start(first);
  vi.advanceTimersByTime(10);
  expect([fired, first.size, second.size]).toEqual([1, 0, 0]);
  timer.joinTo(first);
  expect(first.size).toBe(0);
});

test("a timer that is cleared is released, and one that leaves a call fires in the next", async () => {
  const Timer = await loadTimer();
  let fired = 0;
  const [cleared, kept] = [10, 10].map((ms) => new Timer(() => (fired += 1), ms, []));
  const [first, second] = [new Set<LateTimer>(), new Set<LateTimer>()];
  for (const timer of [cleared, kept]) {
    timer?.joinTo(first);
    timer?.start(first);
  }
  cleared?.close();
  kept?.leave(first);
  vi.advanceTimersByTime(10);
  expect([fired, first.size]).toEqual([0, 0]);
  kept?.joinTo(second);
  kept?.start(second);
  vi.advanceTimersByTime(10);
  expect([fired, second.size]).toEqual([1, 0]);
});

test("an interval fires in the call that it joins for each next time, until it is cleared", async () => {
  const Timer = await loadTimer();
  const timers = new Set<LateTimer>();
  let fired = 0;
  const interval = new Timer(
    () => (fired += 1),
    10,
    [],
    (timer) => {
      timer.joinTo(timers);
      timer.start(timers);
    },
  );
  interval.joinTo(timers);
  interval.start(timers);
  vi.advanceTimersByTime(35);
  expect([fired, timers.size]).toEqual([3, 1]);
  interval.close();
  vi.advanceTimersByTime(20);
  expect([fired, timers.size, vi.getTimerCount()]).toEqual([3, 0, 0]);
});

test("a timer that two calls have started fires in none that it has left", async () => {
  const Timer = await loadTimer();
  let fired = 0;
  const timer = new Timer(() => (fired += 1), 10, []);
  const [first, second] = [new Set<LateTimer>(), new Set<LateTimer>()];
  for (const timers of [first, second]) {
    timer.joinTo(timers);
    timer.start(timers);
  }
  timer.leave(first);
  timer.start(first);
  expect(vi.getTimerCount()).toBe(1);
  timer.leave(second);
  vi.advanceTimersByTime(10);
  expect(fired).toBe(0);
});
