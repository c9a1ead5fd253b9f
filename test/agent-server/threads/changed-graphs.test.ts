import { describe, expect, test } from "vitest";
import type { ThreadRecord } from "../../../src/agent-server/threads/contract/records.ts";
import { testThread } from "../../support/threads.ts";

// A run with another graph is what a run is after the graph was changed and deployed.

describe("a thread that waits at a node which the graph has lost", () => {
  test.each([
    ["an answer", {}, { command: { resume: "yes" } }, 1],
    ["a run without input", { interrupt_before: ["ask"] }, { input: null }, 2],
  ])(
    "%s fails with the name of the node, and the thread waits on",
    async (_, fields, body, answers) => {
      const { object, wait } = await testThread();
      await wait("waits", { input: {}, ...fields });
      const { __error__ } = await wait("waits_elsewhere", body);
      expect(__error__).toMatchObject({
        error: "NodeRemovedError",
        message: expect.stringMatching(/^The thread waits at "ask", which this revision/),
      });
      for (let n = 0; n < answers; n++) await wait("waits", { command: { resume: "yes" } });
      const { status, values } = (await object.getThread()) as ThreadRecord;
      expect([status, values]).toEqual(["idle", { log: ["before", "yes"] }]);
    },
  );

  test("an answer within a subgraph fails with the path of the node", async () => {
    const { object, wait } = await testThread();
    await wait("waits_within", { input: {} });
    const { __error__ } = await wait("waits_elsewhere_within", { command: { resume: "yes" } });
    expect(__error__).toMatchObject({
      error: "NodeRemovedError",
      message: expect.stringMatching(/^The thread waits at "inner.ask", which this revision/),
    });
    await wait("waits_within", { command: { resume: "yes" } });
    const { status, values } = (await object.getThread()) as ThreadRecord;
    expect([status, values]).toEqual(["idle", { log: ["before", "yes", "after"] }]);
  });

  test("a run that continues before sent tasks fails with the name of their node", async () => {
    const { wait } = await testThread();
    await wait("sends_to_workers", { input: {}, interrupt_before: ["worker"] });
    const { __error__ } = await wait("sends_to_helpers", { input: null });
    expect(__error__).toMatchObject({
      error: "NodeRemovedError",
      message: expect.stringMatching(/^The thread waits at "worker", which this revision/),
    });
    expect(await wait("sends_to_workers", { input: null })).toEqual({
      log: ["routed", "a", "b", "paid"],
    });
  });

  test("a new input begins anew", async () => {
    const { wait } = await testThread();
    await wait("waits", { input: {} });
    const { __interrupt__ } = await wait("waits_elsewhere", { input: {} });
    expect(__interrupt__).toMatchObject([{ value: "well?" }]);
  });
});

test("a breakpoint of a subgraph stops once, when the subgraph has lost a node", async () => {
  const { wait } = await testThread();
  await wait("waits_stopped", { input: {} });
  const { __interrupt__ } = await wait("waits_stopped_elsewhere", { input: null });
  expect(__interrupt__).toMatchObject([{ value: "well?" }]);
});

test("a thread that has ended waits at no node", async () => {
  const { wait } = await testThread();
  await wait("waits", { input: {} });
  await wait("waits", { command: { resume: "yes" } });
  expect(await wait("waits_elsewhere", { input: null })).toEqual({ log: ["before", "yes"] });
});

test("a breakpoint stops once, when the graph has lost a key of its state", async () => {
  const { wait } = await testThread();
  const interrupt_before = ["ask"];
  await wait("waits", { input: { note: "kept" }, interrupt_before });
  const { __interrupt__ } = await wait("waits_with_less", { input: null, interrupt_before });
  expect(__interrupt__).toMatchObject([{ value: "well?" }]);
});
