import { expect, test } from "vitest";
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
