import { expect, test } from "vitest";
import { testThread } from "../../support/threads.ts";

test("the DeltaChannel of a subgraph that keeps its state is whole after the thread is pruned", async () => {
  const { object, wait } = await testThread();
  await wait("delta_within", { input: { left: 1 } });
  expect((await wait("delta_within", { input: { left: 2 } })).log).toEqual(["kept 1", "kept 2"]);
  await object.pruneThread();
  const { log } = await wait("delta_within", { input: { left: 3 } });
  expect(log).toEqual(["kept 1", "kept 2", "kept 3"]);
});

test("a DeltaChannel is computed in the order of task paths, not in that of their ends", async () => {
  const { wait } = await testThread();
  const first = ["a", "b", "c after a,b"];
  expect((await wait("delta", { input: { left: 1 } })).log).toEqual(first);
  // The second run reads the log from the stored writes of the first.
  const second = ["a", "b", `c after ${[...first, "a", "b"].join()}`];
  expect((await wait("delta", { input: { left: 1 } })).log).toEqual([...first, ...second]);
});
