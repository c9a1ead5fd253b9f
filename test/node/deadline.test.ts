import { setImmediate as turn } from "node:timers/promises";
import { expect, test } from "vitest";
import { withDeadline } from "../../src/shared/work/deadline.ts";

const late = () => "late";

test("an answer that never comes is late", async () => {
  expect(await withDeadline(new Promise<string>(() => {}), 20, late)).toBe("late");
});

test("an answer is not late because the process was blocked", async () => {
  const answered = async () => {
    for (let n = 0; n < 3; n += 1) await turn();
    return "in time";
  };
  const answer = withDeadline(answered(), 40, late);
  const until = performance.now() + 60;
  while (performance.now() < until);
  expect(await answer).toBe("in time");
});
