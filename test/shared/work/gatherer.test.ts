import { expect, test } from "vitest";
import { Gatherer } from "../../../src/shared/work/gatherer.ts";

const LIMITS = { window_ms: 20, poll_ms: 5, timeout_ms: 500, max_size: 10 };

function recorder() {
  const sent: string[][] = [];
  const send = async (items: string[]) => void sent.push(items);
  return { sent, send };
}

test("items of one key are sent together, and each caller resolves after it", async () => {
  const gatherer = new Gatherer<string>({ ...LIMITS, window_ms: 200 });
  const { sent, send } = recorder();
  await Promise.all([
    gatherer.add("k", ["a"], 1, send),
    gatherer.add("k", ["b"], 1, send),
    gatherer.add("other", ["c"], 1, send),
  ]);
  expect(sent.toSorted()).toEqual([["a", "b"], ["c"]]);
});

test("a batch that would be too large is followed by another one", async () => {
  const gatherer = new Gatherer<string>({ ...LIMITS, window_ms: 200 });
  const { sent, send } = recorder();
  await Promise.all([gatherer.add("k", ["a"], 6, send), gatherer.add("k", ["b"], 6, send)]);
  expect(sent.toSorted()).toEqual([["a"], ["b"]]);
});

test("a failure reaches each caller", async () => {
  const gatherer = new Gatherer<string>({ ...LIMITS, window_ms: 200 });
  const fail = async () => {
    throw new Error("D1 is away");
  };
  const both = [gatherer.add("k", ["a"], 1, fail), gatherer.add("k", ["b"], 1, fail)];
  for (const one of both) await expect(one).rejects.toThrow("D1 is away");
});

test("a flush sends at once, and waits for what is under way", async () => {
  const gatherer = new Gatherer<string>({ ...LIMITS, window_ms: 60_000, poll_ms: 60_000 });
  const { sent, send } = recorder();
  void gatherer.add("k", ["a"], 1, send);
  const slow = Promise.withResolvers<void>();
  const first = gatherer.flush(async (items) => {
    await slow.promise;
    sent.push(items);
  });
  const second = gatherer.flush(send).then(() => expect(sent).toEqual([["a"]]));
  slow.resolve();
  await Promise.all([first, second]);
  expect(sent).toEqual([["a"]]);
});

test("items that are dropped are not sent", async () => {
  const gatherer = new Gatherer<string>({ ...LIMITS, window_ms: 60_000 });
  const { sent, send } = recorder();
  void gatherer.add("k", ["a", "b"], 2, send);
  gatherer.drop("k", (item) => item === "a");
  await gatherer.flush(send);
  expect(sent).toEqual([["b"]]);
});

test("a call whose sender never returns times out", async () => {
  const gatherer = new Gatherer<string>({ ...LIMITS, timeout_ms: 20 });
  void gatherer.add("k", ["a"], 1, () => new Promise(() => {}));
  await expect(gatherer.add("k", ["b"], 1, async () => {})).rejects.toThrow("timed out");
});
