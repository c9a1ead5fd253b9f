import { expect, test } from "vitest";
import { SerialQueue } from "../../../src/shared/work/serial-queue.ts";

test("calls run one after the other and return their own results", async () => {
  const queue = new SerialQueue();
  const first = Promise.withResolvers<string>();
  const started: string[] = [];
  const results = [
    queue.run(() => {
      started.push("first");
      return first.promise;
    }),
    queue.run(() => {
      started.push("second");
      return "b";
    }),
  ];
  await scheduler.wait(1);
  expect(started).toEqual(["first"]);
  first.resolve("a");
  expect(await Promise.all(results)).toEqual(["a", "b"]);
  expect(started).toEqual(["first", "second"]);
});

test.each<[string, () => Promise<never>]>([
  ["rejects", () => Promise.reject(new Error("lost"))],
  [
    "throws",
    () => {
      throw new Error("lost");
    },
  ],
])("a call that %s fails alone", async (_case, work) => {
  const queue = new SerialQueue();
  const failed = queue.run(work);
  const next = queue.run(() => "b");
  await expect(failed).rejects.toThrow("lost");
  expect(await next).toBe("b");
});
