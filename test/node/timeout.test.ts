import { setImmediate as turn } from "node:timers/promises";
import { expect, test } from "vitest";
import { withTimeout } from "../../src/shared/work/timeout.ts";

const onTimeout = () => "late";

test("work that never ends times out", async () => {
  expect(await withTimeout(new Promise<string>(() => {}), 20, onTimeout)).toBe("late");
});

test("work does not time out because the process was blocked", async () => {
  const work = async () => {
    for (let n = 0; n < 3; n += 1) await turn();
    return "in time";
  };
  const result = withTimeout(work(), 40, onTimeout);
  const until = performance.now() + 60;
  while (performance.now() < until);
  expect(await result).toBe("in time");
});
