import { expect, test } from "vitest";
import { Batcher } from "../../../src/shared/work/batcher.ts";

const LIMITS = { window_ms: 20, poll_ms: 5, timeout_ms: 500, max_size: 10 };

function recorder() {
  const sent: string[][] = [];
  const send = async (items: string[]) => void sent.push(items);
  return { sent, send };
}

test("items of one key are sent together, and each caller resolves after it", async () => {
  const batcher = new Batcher<string>({ ...LIMITS, window_ms: 200 });
  const { sent, send } = recorder();
  await Promise.all([
    batcher.add("k", ["a"], 1, send),
    batcher.add("k", ["b"], 1, send),
    batcher.add("other", ["c"], 1, send),
  ]);
  expect(sent.toSorted()).toEqual([["a", "b"], ["c"]]);
});

test("a batch that would be too large is followed by another one", async () => {
  const batcher = new Batcher<string>({ ...LIMITS, window_ms: 200 });
  const { sent, send } = recorder();
  await Promise.all([batcher.add("k", ["a"], 6, send), batcher.add("k", ["b"], 6, send)]);
  expect(sent.toSorted()).toEqual([["a"], ["b"]]);
});

test("a failure reaches each caller", async () => {
  const batcher = new Batcher<string>({ ...LIMITS, window_ms: 200 });
  const fail = async () => {
    throw new Error("D1 is away");
  };
  const both = [batcher.add("k", ["a"], 1, fail), batcher.add("k", ["b"], 1, fail)];
  for (const one of both) await expect(one).rejects.toThrow("D1 is away");
});

test("a flush sends at once, and waits for what is under way", async () => {
  const batcher = new Batcher<string>({ ...LIMITS, window_ms: 60_000, poll_ms: 60_000 });
  const { sent, send } = recorder();
  void batcher.add("k", ["a"], 1, send);
  const slow = Promise.withResolvers<void>();
  const first = batcher.flush(async (items) => {
    await slow.promise;
    sent.push(items);
  });
  const second = batcher.flush(send).then(() => expect(sent).toEqual([["a"]]));
  slow.resolve();
  await Promise.all([first, second]);
  expect(sent).toEqual([["a"]]);
});

test("items that are dropped are not sent", async () => {
  const batcher = new Batcher<string>({ ...LIMITS, window_ms: 60_000 });
  const { sent, send } = recorder();
  void batcher.add("k", ["a", "b"], 2, send);
  batcher.drop("k", (item) => item === "a");
  await batcher.flush(send);
  expect(sent).toEqual([["b"]]);
});

test("a call whose sender never returns times out", async () => {
  const batcher = new Batcher<string>({ ...LIMITS, timeout_ms: 20 });
  void batcher.add("k", ["a"], 1, () => new Promise(() => {}));
  await expect(batcher.add("k", ["b"], 1, async () => {})).rejects.toThrow("timed out");
});
