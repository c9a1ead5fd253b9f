import { expect, test } from "vitest";
import { PendingWork } from "../../src/isolate/globals/pending-work.ts";

test("a timer that is cleared outside of its run does not count as its work", () => {
  const work = new PendingWork();
  const timer = work.run(() => setTimeout(() => {}, 250));
  expect(work.isLeft).toBe(true);
  clearTimeout(timer);
  expect(work.isLeft).toBe(false);
});

test("a timer that is cleared in another run is work of the run that started it until then", () => {
  const [work, other] = [new PendingWork(), new PendingWork()];
  const timer = work.run(() => setTimeout(() => {}, 250));
  const own = other.run(() => setTimeout(() => {}, 250));
  other.run(() => clearTimeout(timer));
  expect([work.isLeft, other.isLeft]).toEqual([false, true]);
  clearTimeout(own);
});
