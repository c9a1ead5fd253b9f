import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { TtlCache } from "../../../src/shared/work/ttl-cache.ts";

beforeEach(() => void vi.useFakeTimers({ toFake: ["Date"] }));
afterEach(() => void vi.useRealTimers());

/** Reads that the test resolves, in the order of the calls. */
function source() {
  const reads: PromiseWithResolvers<string>[] = [];
  const read = () => {
    reads.push(Promise.withResolvers<string>());
    return reads.at(-1)?.promise ?? Promise.reject(new Error("none"));
  };
  return { reads, read };
}

async function filled(value: string) {
  const cache = new TtlCache<string>(100);
  expect(await cache.get("k", async () => value)).toBe(value);
  return cache;
}

const never = () => Promise.reject(new Error("not to be read"));

test("a cached value is served for its time and then read again", async () => {
  const cache = await filled("a");
  vi.advanceTimersByTime(99);
  expect(await cache.get("k", never)).toBe("a");
  vi.advanceTimersByTime(1);
  expect(await cache.get("k", async () => "b")).toBe("b");
  expect(await cache.get("k", never)).toBe("b");
});

test("one of many callers reads a stale value again, and the others do not wait", async () => {
  const cache = await filled("a");
  vi.advanceTimersByTime(100);
  const { reads, read } = source();
  const first = cache.get("k", read);
  expect(await Promise.all([cache.get("k", never), cache.get("k", never)])).toEqual(["a", "a"]);
  reads[0]?.resolve("b");
  expect(await first).toBe("b");
  expect(await cache.get("k", never)).toBe("b");
});

test("a read that does not end is not waited for", async () => {
  const cache = await filled("a");
  vi.advanceTimersByTime(100);
  void cache.get("k", source().read);
  vi.advanceTimersByTime(1000);
  expect(await cache.get("k", async () => "c")).toBe("c");
});

test("a value that changed while it was read is not cached", async () => {
  const cache = await filled("a");
  vi.advanceTimersByTime(100);
  const { reads, read } = source();
  const first = cache.get("k", read);
  cache.forget();
  reads[0]?.resolve("before the change");
  expect(await first).toBe("before the change");
  expect(await cache.get("k", async () => "after")).toBe("after");
});

test("a failed read removes the stale value", async () => {
  const cache = await filled("a");
  vi.advanceTimersByTime(100);
  await expect(cache.get("k", never)).rejects.toThrow("not to be read");
  expect(await cache.get("k", async () => "d")).toBe("d");
});

test("`forget` removes matching values only", async () => {
  const cache = await filled("a");
  await cache.get("other", async () => "o");
  cache.forget((key, value) => key === "k" && value === "a");
  expect(await cache.get("other", never)).toBe("o");
  expect(await cache.get("k", async () => "b")).toBe("b");
});
