import { describe, expect, it } from "vitest";
import { chunks, mapConcurrent } from "../../../src/shared/work/chunks.ts";

describe("chunks", () => {
  it.each([
    { items: [], size: 2, expected: [] },
    { items: [1], size: 2, expected: [[1]] },
    { items: [1, 2], size: 2, expected: [[1, 2]] },
    { items: [1, 2, 3], size: 2, expected: [[1, 2], [3]] },
    { items: [1, 2, 3], size: 1, expected: [[1], [2], [3]] },
  ])("splits $items by $size", ({ items, size, expected }) => {
    expect(chunks<number>(items, size)).toEqual(expected);
  });
});

describe("mapConcurrent", () => {
  /** Calls that end when the test ends them, in any order. */
  function gates(count: number) {
    const started: number[] = [];
    const all = Array.from({ length: count }, () => Promise.withResolvers<string>());
    const map = (n: number) => {
      started.push(n);
      return all[n]?.promise ?? Promise.reject(new Error(`no gate ${n}`));
    };
    return { all, started, map, items: all.map((_, n) => n) };
  }

  it("keeps `limit` calls under way and returns results in the order of the items", async () => {
    const { all, started, map, items } = gates(4);
    const results = mapConcurrent(items, 2, map);
    expect(started).toEqual([0, 1]);
    all[1]?.resolve("b");
    await expect.poll(() => started).toEqual([0, 1, 2]);
    all[0]?.resolve("a");
    await expect.poll(() => started).toEqual([0, 1, 2, 3]);
    all[3]?.resolve("d");
    all[2]?.resolve("c");
    expect(await results).toEqual(["a", "b", "c", "d"]);
  });

  it("starts no call after a failure", async () => {
    const { all, started, map, items } = gates(5);
    const results = mapConcurrent(items, 2, map);
    all[0]?.reject(new Error("first"));
    await expect(results).rejects.toThrow("first");
    all[1]?.resolve("b");
    await all[1]?.promise;
    await scheduler.wait(1);
    expect(started).toEqual([0, 1]);
  });

  it("returns an empty list for no items", async () => {
    expect(await mapConcurrent([], 3, async () => 1)).toEqual([]);
  });
});
