import { expect, test } from "vitest";
import { testThread } from "../../support/threads.ts";

test("a DeltaChannel is computed in the order of task paths, not in that of their ends", async () => {
  const { wait } = await testThread();
  const first = ["a", "b", "c after a,b"];
  expect((await wait("delta", { input: { left: 1 } })).log).toEqual(first);
  // The second run reads the log from the stored writes of the first.
  const second = ["a", "b", `c after ${[...first, "a", "b"].join()}`];
  expect((await wait("delta", { input: { left: 1 } })).log).toEqual([...first, ...second]);
});
