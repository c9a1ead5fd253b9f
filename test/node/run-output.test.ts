import { expect, test } from "vitest";
import { MAX_MESSAGE_BYTES } from "../../src/isolate/message-size.ts";
import { Outbox } from "../../src/isolate/outbox.ts";

const CHARACTERS = 4 * 1024 * 1024;

function event(data: string) {
  return { op: "event", event: "custom", data } as const;
}

test("the output of a run whose commits are refused is not kept", async () => {
  const outbox = new Outbox({ commit: () => Promise.reject(new Error("This attempt has ended.")) });
  outbox.push(event("first"));
  await expect(outbox.flush()).rejects.toThrow("This attempt has ended.");
  // Far more than may wait.
  const data = "x".repeat(CHARACTERS);
  for (let n = 0; n < 20; n++) outbox.push(event(data));
  expect(outbox.isBehind).toBe(false);
  await expect(outbox.drain(0)).rejects.toThrow("This attempt has ended.");
});

test("a flush waits for what was pushed before it, and not for what follows", async () => {
  const committed: number[] = [];
  const outbox = new Outbox({
    async commit(ops) {
      committed.push(ops.length);
      // Another node emits as fast as the thread stores.
      if (committed.length < 5) outbox.push(event("more"));
    },
  });
  outbox.push(event("first"));
  outbox.push(event("second"));
  await outbox.flush();
  expect(committed).toEqual([2]);
  await outbox.flush();
  expect(committed).toEqual([2, 1]);
});

test("each flush after a failed commit reports the failure", async () => {
  const outbox = new Outbox({ commit: () => Promise.reject(new Error("This attempt has ended.")) });
  outbox.push(event("first"));
  await expect(outbox.flush()).rejects.toThrow("This attempt has ended.");
  await expect(outbox.flush()).rejects.toThrow("This attempt has ended.");
});

test("a failed commit notifies the run once", async () => {
  let failures = 0;
  const commit = () => Promise.reject(new Error("This attempt has ended."));
  const outbox = new Outbox({ commit }, () => {
    failures += 1;
  });
  outbox.push(event("first"));
  await expect(outbox.flush()).rejects.toThrow("This attempt has ended.");
  outbox.push(event("second"));
  await expect(outbox.flush()).rejects.toThrow("This attempt has ended.");
  expect(failures).toBe(1);
});

test("a batch has no more bytes than one message takes", async () => {
  const sizes: number[] = [];
  const outbox = new Outbox({
    async commit(ops) {
      sizes.push(ops.length);
    },
  });
  // Together they have more.
  outbox.push(event("x".repeat(CHARACTERS - 1)));
  outbox.push(event("x".repeat(MAX_MESSAGE_BYTES - 1024)));
  await outbox.flush();
  expect(sizes).toEqual([1, 1]);
});
