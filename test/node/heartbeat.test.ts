import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { startHeartbeat } from "../../src/shared/work/heartbeat.ts";

const FAKE = ["Date", "setInterval", "clearInterval", "setTimeout", "clearTimeout"] as const;

beforeEach(() => void vi.useFakeTimers({ toFake: [...FAKE] }));
afterEach(() => {
  vi.useRealTimers();
  vi.restoreAllMocks();
});

const lost = () => new Error("lost");

/** A heartbeat of 10 ms whose renewals return these results in turn, then `true`. */
function started(results: (boolean | Error)[], lease_ms?: number) {
  let renewals = 0;
  const renew = async () => {
    const result = results[renewals++] ?? true;
    if (result instanceof Error) throw result;
    return result;
  };
  const options = { interval_ms: 10, renew, lost, ...(lease_ms && { lease_ms }) };
  return { heartbeat: startHeartbeat(options), count: () => renewals };
}

test("a heartbeat renews at each interval until it is stopped", async () => {
  const { heartbeat, count } = started([]);
  await vi.advanceTimersByTimeAsync(35);
  expect(count()).toBe(3);
  heartbeat.stop();
  await vi.advanceTimersByTimeAsync(100);
  expect(count()).toBe(3);
  expect(heartbeat.signal.aborted).toBe(false);
});

test("a lease that another attempt has claimed aborts the signal and rejects `lost`", async () => {
  const { heartbeat } = started([true, false]);
  await vi.advanceTimersByTimeAsync(10);
  expect(heartbeat.signal.aborted).toBe(false);
  await vi.advanceTimersByTimeAsync(10);
  heartbeat.stop();
  expect(heartbeat.signal.reason).toEqual(lost());
  await expect(heartbeat.lost).rejects.toThrow("lost");
});

test("renewals that never answer end the lease", async () => {
  vi.spyOn(console, "error").mockImplementation(() => {});
  const renew = () => new Promise<boolean>(() => {});
  const heartbeat = startHeartbeat({ interval_ms: 10, renew, lost, lease_ms: 30 });
  await vi.advanceTimersByTimeAsync(50);
  heartbeat.stop();
  expect(heartbeat.signal.reason).toEqual(lost());
});

test.each([
  { failures: 2, lease_ms: 30, isLost: false },
  { failures: 3, lease_ms: 30, isLost: true },
  { failures: 9, lease_ms: undefined, isLost: false },
])("$failures failed renewals with a lease of $lease_ms ms: lost is $isLost", async (example) => {
  const { failures, lease_ms, isLost } = example;
  const logged = vi.spyOn(console, "error").mockImplementation(() => {});
  const outage = Array.from({ length: failures }, () => new Error("storage is away"));
  const { heartbeat } = started(outage, lease_ms);
  await vi.advanceTimersByTimeAsync(100);
  heartbeat.stop();
  expect(heartbeat.signal.aborted).toBe(isLost);
  expect(logged).toHaveBeenCalledTimes(failures);
  expect(logged).toHaveBeenCalledWith(expect.stringContaining("storage is away"));
});
