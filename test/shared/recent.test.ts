import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { Recent } from "../../src/shared/recent.ts";

beforeEach(() => void vi.useFakeTimers({ toFake: ["Date"] }));
afterEach(() => void vi.useRealTimers());

/** Reads that are answered by hand, in the order in which they were asked. */
function source() {
  const asked: PromiseWithResolvers<string>[] = [];
  const read = () => {
    asked.push(Promise.withResolvers<string>());
    return asked.at(-1)?.promise ?? Promise.reject(new Error("none"));
  };
  return { asked, read };
}

async function filled(value: string) {
  const recent = new Recent<string>(100);
  expect(await recent.get("k", async () => value)).toBe(value);
  return recent;
}

const never = () => Promise.reject(new Error("not to be read"));

test("what was read is given for its time, and then read anew", async () => {
  const recent = await filled("a");
  vi.advanceTimersByTime(99);
  expect(await recent.get("k", never)).toBe("a");
  vi.advanceTimersByTime(1);
  expect(await recent.get("k", async () => "b")).toBe("b");
  expect(await recent.get("k", never)).toBe("b");
});

test("of many that find it too old one reads, and the others do not wait", async () => {
  const recent = await filled("a");
  vi.advanceTimersByTime(100);
  const { asked, read } = source();
  const first = recent.get("k", read);
  expect(await Promise.all([recent.get("k", never), recent.get("k", never)])).toEqual(["a", "a"]);
  asked[0]?.resolve("b");
  expect(await first).toBe("b");
  expect(await recent.get("k", never)).toBe("b");
});

test("a reader that never comes back is not waited for", async () => {
  const recent = await filled("a");
  vi.advanceTimersByTime(100);
  void recent.get("k", source().read);
  vi.advanceTimersByTime(1000);
  expect(await recent.get("k", async () => "c")).toBe("c");
});

test("what was being read when it changed is not kept", async () => {
  const recent = await filled("a");
  vi.advanceTimersByTime(100);
  const { asked, read } = source();
  const first = recent.get("k", read);
  recent.forget();
  asked[0]?.resolve("before the change");
  expect(await first).toBe("before the change");
  expect(await recent.get("k", async () => "after")).toBe("after");
});

test("what cannot be read any more is gone for all", async () => {
  const recent = await filled("a");
  vi.advanceTimersByTime(100);
  await expect(recent.get("k", never)).rejects.toThrow("not to be read");
  expect(await recent.get("k", async () => "d")).toBe("d");
});

test("only what is meant is forgotten", async () => {
  const recent = await filled("a");
  await recent.get("other", async () => "o");
  recent.forget((key, value) => key === "k" && value === "a");
  expect(await recent.get("other", never)).toBe("o");
  expect(await recent.get("k", async () => "b")).toBe("b");
});
