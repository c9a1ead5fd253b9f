import { expect, test } from "vitest";
import { testThread } from "../../support/threads.ts";

test.each([
  ["the values of the graph", {}],
  ["its subgraphs too", { stream_subgraphs: true }],
  ["events", { stream_mode: ["events"] }],
  ["checkpoints at the end alone", { durability: "exit" }],
])("a breakpoint in a subgraph interrupts a run that streams %s", async (_name, body) => {
  const thread = await testThread();
  await thread.wait("stops_within", { input: { delay_ms: 0 }, ...body });
  expect(await thread.object.getThread()).toMatchObject({ status: "interrupted" });
  const { log } = await thread.wait("stops_within", { input: null, ...body });
  expect(log).toEqual(["before", "work", "after"]);
  expect(await thread.object.getThread()).toMatchObject({ status: "idle" });
});

test("a run that begins at a checkpoint of its subgraph stops at the breakpoint there", async () => {
  const thread = await testThread();
  await thread.wait("stops_within", { input: { delay_ms: 0 } });
  const place = { ns: "", checkpoint_id: null, subgraphs: true };
  const answer = await thread.object.getState(place, thread.revision);
  const [task] = answer.ok ? JSON.parse(answer.value).tasks : [];
  const { checkpoint_ns: ns } = task.state.checkpoint;
  const page = { ns, checkpoint_id: null, limit: 10, before_id: null, metadata: null };
  const history = await thread.object.getHistory(page, thread.revision);
  const first = history.ok ? JSON.parse(history.value).at(-1) : null;
  const { checkpoint_id, checkpoint_ns, checkpoint_map } = first.checkpoint;
  const configurable = { checkpoint_id, checkpoint_ns, checkpoint_map };
  const body = { input: null, stream_subgraphs: true, config: { configurable } };
  await thread.wait("stops_within", body);
  expect(await thread.object.getThread()).toMatchObject({ status: "interrupted" });
});

test.each(["sync", "exit"])(
  "an interrupt in a hidden node interrupts a run with durability %s",
  async (durability) => {
    const thread = await testThread();
    const values = await thread.wait("interrupts_hidden", { input: { log: [] }, durability });
    expect(values).toMatchObject({ log: ["before"] });
    const stored = await thread.object.getThread();
    expect(stored?.status).toBe("interrupted");
    expect(Object.values(stored?.interrupts ?? {})).toMatchObject([[{ value: "well?" }]]);
    const { log } = await thread.wait("interrupts_hidden", { command: { resume: "yes" } });
    expect(log).toEqual(["before", "yes"]);
  },
);
