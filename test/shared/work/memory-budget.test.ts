import { describe, expect, test } from "vitest";
import { AppError } from "../../../src/shared/errors.ts";
import { MemoryBudget } from "../../../src/shared/work/memory-budget.ts";
import { eventually } from "../../support/eventually.ts";

/** Starts work that reserves and then ends when the test lets it. */
function start(budget: MemoryBudget, ...sizes: number[]) {
  const admitted: number[] = [];
  const end = Promise.withResolvers<void>();
  const work = budget.hold(async (reserve) => {
    for (const bytes of sizes) {
      await reserve(bytes);
      admitted.push(bytes);
    }
    await end.promise;
  });
  return { admitted, work, end: () => end.resolve() };
}

/** Waits until the works have admitted these bytes, and no more of them in the following polls. */
async function admits(works: readonly ReturnType<typeof start>[], bytes: number[][]) {
  const expectAdmitted = () => expect(works.map(({ admitted }) => admitted)).toEqual(bytes);
  await eventually(expectAdmitted);
  await scheduler.wait(50);
  expectAdmitted();
}

describe("a budget of bytes", () => {
  test("admits work up to its limit, and one work beyond it", async () => {
    const budget = new MemoryBudget(10);
    const works = [start(budget, 6), start(budget, 4), start(budget, 30), start(budget, 1)];
    await admits(works, [[6], [4], [30], []]);
    works[0]?.end();
    await admits(works, [[6], [4], [30], [1]]);
    for (const { end } of works) end();
    await Promise.all(works.map(({ work }) => work));
  });

  test("admits small work while the large one reads on, and no second large one", async () => {
    const budget = new MemoryBudget(10);
    const large = start(budget, 8, 8, 8);
    await admits([large], [[8, 8, 8]]);
    const [small, second] = [start(budget, 9), start(budget, 1, 8)];
    await admits([large, small, second], [[8, 8, 8], [9], [1]]);
    large.end();
    await admits([second], [[1, 8]]);
    small.end();
    second.end();
    await Promise.all([large.work, small.work, second.work]);
  });

  test("admits work beside one that continues after it has released its bytes", async () => {
    const budget = new MemoryBudget(10);
    const end = Promise.withResolvers<void>();
    const long = budget.hold(async (reserve, release) => {
      await reserve(8);
      release();
      await reserve(8);
      await end.promise;
    });
    const large = start(budget, 10, 10);
    await admits([large], [[10, 10]]);
    end.resolve();
    await long;
    const second = start(budget, 11);
    await admits([second], [[]]);
    large.end();
    await admits([second], [[11]]);
    second.end();
    await Promise.all([large.work, second.work]);
  });

  test("admits all work in the end, failed work included", async () => {
    const budget = new MemoryBudget(10);
    const served = await Promise.allSettled(
      Array.from({ length: 40 }, (_, n) =>
        budget.hold(async (reserve) => {
          for (let sent = 0; sent < 6; sent++) await reserve(3);
          if (n % 5 === 0) throw new Error("failed");
        }),
      ),
    );
    expect(served.filter(({ status }) => status === "fulfilled")).toHaveLength(32);
    const after = [start(budget, 10), start(budget, 99)];
    await admits(after, [[10], [99]]);
    for (const { end } of after) end();
    await Promise.all(after.map(({ work }) => work));
  });

  test("refuses with a time to retry what waited too long", async () => {
    const budget = new MemoryBudget(10, 50);
    const held = [start(budget, 10), start(budget, 10)];
    const refused = await start(budget, 1).work.catch(AppError.from);
    expect(refused).toMatchObject({ status: 503, retry_after_seconds: 2 });
    for (const { end } of held) end();
    await Promise.all(held.map(({ work }) => work));
  });
});
