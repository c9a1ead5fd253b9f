import { describe, expect, test } from "vitest";
import { type SentEvent, testThread } from "../../support/threads.ts";

const stream_mode = ["values", "updates", "tasks", "debug", "checkpoints", "messages"];
const log = ["opened", "object 1"];
const input = { log: [] };

function dataOf(events: SentEvent[], name: string): unknown[] {
  return events.filter(({ event }) => event === name).map(({ data }) => data);
}

describe("an untracked value that JSON cannot hold", () => {
  test("is in no event, and the run succeeds", async () => {
    const thread = await testThread();
    const events = await thread.stream("connects", { input, stream_mode });
    expect(dataOf(events, "error")).toEqual([]);
    expect(dataOf(events, "values")).toEqual([
      { log: [] },
      { log: ["opened"], cache: { hits: 1 } },
      { log, cache: { hits: 1 } },
    ]);
    expect(dataOf(events, "updates")).toMatchObject([
      { open: { log: ["opened"], cache: { hits: 1 } } },
      { use: { log } },
    ]);
    const inputs = dataOf(events, "tasks").filter((task) => "input" in Object(task));
    expect(inputs).toMatchObject([{ name: "open" }, { input: { cache: { hits: 1 } } }]);
  });

  test("is in no event of a subgraph", async () => {
    const thread = await testThread();
    const body = { input, stream_mode, stream_subgraphs: true };
    const events = await thread.stream("connects_within", body);
    expect(dataOf(events, "error")).toEqual([]);
    const within = events.filter(({ event }) => event.startsWith("values|inner:"));
    expect(within.at(-1)?.data).toEqual({ log, cache: { hits: 1 } });
    expect(await thread.object.getThread()).toMatchObject({ status: "idle", values: { log } });
  });
});

test("a thread stores no untracked values", async () => {
  const thread = await testThread();
  expect(await thread.wait("connects", { input })).toEqual({ log });
  const { values } = (await thread.object.getThread()) ?? {};
  expect(values).toEqual({ log });
});

test("a thread that waits at a breakpoint stores no untracked values", async () => {
  const thread = await testThread();
  const values = await thread.wait("connects", { input, interrupt_before: ["use"] });
  expect(values).toEqual({ log: ["opened"] });
});
