import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { Outbox } from "../../src/shared/work/outbox.ts";

const RETRY_MS = 1000;

function outboxOf(entries: string[], deliver: (entry: string) => Promise<void>) {
  const failures: unknown[] = [];
  const outbox = new Outbox({
    retry_ms: RETRY_MS,
    hasPending: () => entries.length > 0,
    dueAt: () => 0,
    deliver: async () => {
      await deliver(entries[0] ?? "");
      entries.shift();
    },
    onFailed: (error) => failures.push(error),
    onFlushed: () => {},
  });
  return { outbox, failures };
}

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

test("an outbox delivers each entry once, also those that arrive during a delivery", async () => {
  const [entries, delivered] = [["a"], [] as string[]];
  const { outbox } = outboxOf(entries, async (entry) => {
    if (entry === "a") entries.push("b");
    await Promise.resolve();
    delivered.push(entry);
  });
  await Promise.all([outbox.flush(), outbox.publish(), outbox.publish()]);
  expect(delivered).toEqual(["a", "b"]);
  expect(outbox.wake).toBeNull();
});

test("a failed delivery is published again after the retry time, and flushed at once", async () => {
  let isDown = true;
  const { outbox, failures } = outboxOf(["a"], async () => {
    if (isDown) throw new Error("down");
  });
  await outbox.publish();
  await outbox.publish();
  expect(failures).toHaveLength(1);
  expect(outbox.wake).toBe(Date.now() + RETRY_MS);
  await expect(outbox.flush()).rejects.toThrow("down");
  expect(failures).toHaveLength(2);
  isDown = false;
  outbox.schedule();
  await vi.advanceTimersByTimeAsync(RETRY_MS - 1);
  expect(outbox.wake).not.toBeNull();
  outbox.schedule();
  await vi.advanceTimersByTimeAsync(1);
  outbox.schedule();
  await vi.runAllTimersAsync();
  expect(outbox.wake).toBeNull();
});
