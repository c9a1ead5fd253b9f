import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { Outbox } from "../../src/shared/work/outbox.ts";

const RETRY_MS = 1000;

function outboxOf(entries: string[], deliver: (entry: string) => Promise<void>) {
  const failures: unknown[] = [];
  let inARow = 0;
  const outbox = new Outbox({
    retry_ms: RETRY_MS,
    failures: {
      get: () => inARow,
      set: (count) => {
        inARow = count;
      },
    },
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
  const pause = 2 * RETRY_MS;
  expect(outbox.wake).toBe(Date.now() + pause);
  isDown = false;
  outbox.schedule();
  await vi.advanceTimersByTimeAsync(pause - 1);
  expect(outbox.wake).not.toBeNull();
  outbox.schedule();
  await vi.advanceTimersByTimeAsync(1);
  outbox.schedule();
  await vi.runAllTimersAsync();
  expect(outbox.wake).toBeNull();
});

test("the pauses of failed deliveries grow to five minutes, and begin anew after a delivery", async () => {
  let isDown = true;
  const entries = ["a"];
  const { outbox } = outboxOf(entries, async () => {
    if (isDown) throw new Error("down");
  });
  const pauses: number[] = [];
  for (let n = 0; n < 11; n++) {
    await outbox.flush().catch(() => undefined);
    pauses.push((outbox.wake ?? 0) - Date.now());
  }
  expect(pauses.slice(0, 4)).toEqual([1, 2, 4, 8].map((times) => times * RETRY_MS));
  expect(pauses.at(-1)).toBe(300_000);
  isDown = false;
  await outbox.flush();
  entries.push("b");
  expect(outbox.wake).toBe(Date.now() + RETRY_MS);
});
