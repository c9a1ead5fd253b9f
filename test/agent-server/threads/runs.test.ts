import { expect, test } from "vitest";
import type { ThreadRecord } from "../../../src/agent-server/threads/contract/records.ts";
import { EVERYTHING, namesOf, readEvents, stateUpdate, testThread } from "../../support/threads.ts";

const hi = { messages: [{ role: "user", content: "hi" }] };

test("a run streams its events and leaves its state on the thread", async () => {
  const { object, stream } = await testThread();
  const events = await stream("echo", { input: hi, stream_mode: ["values", "updates"] });
  expect(namesOf(events)).toEqual(["metadata", "values", "updates", "values"]);
  expect(events.map(({ id }) => id)).toEqual([0, 1, 2, 3]);
  const thread = await object.getThread();
  expect(thread).toMatchObject({
    status: "idle",
    metadata: { graph_id: "echo" },
    values: { messages: [{ type: "human" }, { type: "ai", content: "echo: hi" }] },
  });
});

test("wait gives the final values", async () => {
  const { wait } = await testThread();
  const values = await wait("steps", { input: { delay_ms: 1 } });
  expect(values).toEqual({ delay_ms: 1, log: ["a", "b", "c"] });
});

test("runs on one thread queue up and end in the order received", async () => {
  const { create, join, object } = await testThread();
  const texts = Array.from({ length: 50 }, (_, n) => `message ${n}`);
  const runs = [];
  for (const content of texts)
    runs.push(await create("echo", { input: { messages: [{ role: "user", content }] } }));
  for (const { run_id } of runs) await join(run_id);
  const thread = await object.getThread();
  const { messages } = (thread as ThreadRecord).values as { messages: { content: string }[] };
  expect(messages.map(({ content }) => content)).toEqual(
    texts.flatMap((text) => [text, `echo: ${text}`]),
  );
  const statuses = await Promise.all(runs.map(({ run_id }) => object.getRun(run_id)));
  expect(new Set(statuses.map((run) => run?.status))).toEqual(new Set(["success"]));
});

test("two readers of one run see the same events, and a third may come after the end", async () => {
  const { create, follow } = await testThread();
  const { run_id } = await create("steps", { input: { delay_ms: 20 }, stream_mode: "updates" });
  const [first, second] = await Promise.all([follow(run_id), follow(run_id)]);
  expect(namesOf(first)).toEqual(["metadata", "updates", "updates", "updates"]);
  expect(second).toEqual(first);
  expect(await follow(run_id)).toEqual(first);
});

test("a stream resumes after Last-Event-ID", async () => {
  const { create, follow } = await testThread();
  const { run_id } = await create("steps", { input: {}, stream_mode: "updates" });
  const all = await follow(run_id);
  expect(await follow(run_id, all[1]?.id)).toEqual(all.slice(2));
});

test("a reader may select modes", async () => {
  const { object, create, join } = await testThread();
  const { run_id } = await create("steps", { input: {}, stream_mode: ["values", "updates"] });
  await join(run_id);
  const choice = { ...EVERYTHING, modes: ["updates"] };
  const stream = await object.followRun(run_id, choice);
  expect(stream && namesOf(await readEvents(stream))).toEqual([
    "metadata",
    "updates",
    "updates",
    "updates",
  ]);
  const custom = await object.followRun(run_id, { ...choice, after: 1, modes: ["custom"] });
  expect(custom && (await readEvents(custom))).toEqual([]);
});

test("a failing node ends its run with an error event, and the next run still runs", async () => {
  const { object, stream, wait } = await testThread();
  const events = await stream("fails", { input: { log: [] } });
  expect(events.at(-1)).toMatchObject({
    event: "error",
    data: { error: "RangeError", message: "the node broke" },
  });
  expect((await object.getThread())?.status).toBe("error");
  expect(await wait("fails", { input: { log: [] } })).toEqual({
    __error__: { error: "RangeError", message: "the node broke" },
  });
  expect(await wait("echo", { input: hi })).toHaveProperty("messages");
  expect((await object.getThread())?.status).toBe("idle");
});

test("an agent that floods its stream fails with the limit, and the thread stays usable", async () => {
  const { wait } = await testThread();
  const custom = { stream_mode: "custom" };
  expect(await wait("flood", { ...custom, input: { count: 3 } })).toMatchObject({ count: 3 });
  const atOnce = await wait("flood", { ...custom, input: { count: 90 } });
  expect(atOnce.__error__).toMatchObject({
    error: "EventLimitError",
    message: expect.stringMatching(/bytes of unsaved events and checkpoints/),
  });
  const inTime = await wait("flood", { ...custom, input: { count: 90, pause_ms: 1 } });
  expect(inTime.__error__).toMatchObject({
    error: "EventLimitError",
    message: expect.stringMatching(/The run emitted more than \d+ characters of events/),
  });
  expect(await wait("echo", { input: hi })).toHaveProperty("messages");
});

test("a message of megabytes is answered, one that is too large for the isolate is refused", async () => {
  const { wait } = await testThread();
  const longInput = (length: number) => ({
    input: { messages: [{ role: "user", content: "x".repeat(length) }] },
  });
  expect((await wait("echo", longInput(4_000_000))).messages).toHaveLength(2);
  expect((await wait("echo", longInput(9_500_000))).__error__).toMatchObject({
    error: "StateLimitError",
    message: expect.stringMatching(/^The state has \d+ bytes, more than 10485760 \(10.0 MiB\)/),
  });
  expect((await wait("echo", longInput(10))).messages.length).toBeGreaterThan(2);
}, 120_000);

test("an event larger than a row arrives whole", async () => {
  const { stream } = await testThread();
  const events = await stream("flood", { input: { count: 2 }, stream_mode: "custom" });
  expect(events.slice(1).map(({ data }) => String(data).length)).toEqual([
    1024 * 1024,
    1024 * 1024,
  ]);
});

test.each(["async", "sync", "exit"] as const)(
  "events that a node emitted before it failed are all streamed: %s",
  async (durability) => {
    const { stream } = await testThread();
    const stream_mode = ["custom", "tasks"] as const;
    const events = await stream("last_words", {
      input: {},
      stream_mode: [...stream_mode],
      durability,
    });
    const custom = events.filter(({ event }) => event === "custom").map(({ data }) => data);
    expect(custom).toEqual(Array.from({ length: 50 }, (_, n) => ({ n })));
    expect(namesOf(events).slice(-2)).toEqual(["tasks", "error"]);
  },
);

test("a value that JSON cannot hold is an error that names it", async () => {
  const { wait } = await testThread();
  const { __error__ } = await wait("unserializable", { input: { log: [] } });
  expect(__error__.message).toMatch(/BigInt/);
});

test("an interrupted thread waits for its response and resumes with it", async () => {
  const { object, wait } = await testThread();
  const interrupted = await wait("ask", { input: { log: [] } });
  expect(interrupted.__interrupt__).toMatchObject([{ value: { question: "go on?" } }]);
  const thread = await object.getThread();
  expect(thread?.status).toBe("interrupted");
  expect(Object.values(thread?.interrupts ?? {})).toMatchObject([
    [{ value: { question: "go on?" } }],
  ]);
  const done = await wait("ask", { command: { resume: "yes" } });
  expect(done).toEqual({ log: ["answer: yes", "done"] });
  expect((await object.getThread())?.status).toBe("idle");
});

test("a node that interrupts again is resumed again", async () => {
  const { object, wait } = await testThread();
  const interrupted = async (resume?: string) => {
    const input = resume === undefined ? { input: {} } : { command: { resume } };
    const { __interrupt__ = [] } = await wait("interrupts_twice", input);
    const { status } = (await object.getThread()) ?? {};
    return [status, ...(__interrupt__ as { value: string }[]).map(({ value }) => value)];
  };
  expect(await interrupted()).toEqual(["interrupted", "first?"]);
  expect(await interrupted("one")).toEqual(["interrupted", "second?"]);
  expect(await interrupted("two")).toEqual(["idle"]);
});

test("interrupt_before stops ahead of a node, and a run without input continues", async () => {
  const { object, wait } = await testThread();
  expect(await wait("steps", { input: {}, interrupt_before: ["b"] })).toEqual({ log: ["a"] });
  expect((await object.getThread())?.status).toBe("interrupted");
  expect(await wait("steps", {})).toEqual({ log: ["a", "b", "c"] });
});

test("a model's answer arrives token by token", async () => {
  const { stream } = await testThread();
  const events = await stream("tokens", { input: hi, stream_mode: "messages" });
  const names = namesOf(events);
  expect(new Set(names)).toEqual(
    new Set(["metadata", "messages/metadata", "messages/partial", "messages/complete"]),
  );
  expect(names.at(-1)).toBe("messages/complete");
  const partials = events.filter(({ event }) => event === "messages/partial");
  expect(partials.length).toBeGreaterThan(2);
  expect(partials.at(-1)?.data).toMatchObject([{ type: "ai", content: "one two three" }]);
});

test("messages-tuple sends each chunk with its metadata", async () => {
  const { stream } = await testThread();
  const events = await stream("tokens", { input: hi, stream_mode: "messages-tuple" });
  const chunks = events.filter(({ event }) => event === "messages");
  expect(chunks.length).toBeGreaterThan(2);
  expect(chunks[0]?.data).toMatchObject([{ type: "ai" }, { langgraph_node: "model" }]);
});

test("events of subgraphs carry their namespace with stream_subgraphs, and are left out otherwise", async () => {
  const { stream } = await testThread();
  const modes = { input: { log: [] }, stream_mode: ["updates", "custom"] };
  expect(namesOf(await stream("nested", modes))).not.toContainEqual(expect.stringContaining("|"));
  const names = namesOf(await stream("nested", { ...modes, stream_subgraphs: true }));
  expect(names).toContainEqual(expect.stringMatching(/^updates\|inner:/));
});

test("debug events name their checkpoints", async () => {
  const { object, stream, revision } = await testThread();
  const events = await stream("steps", { input: {}, stream_mode: "debug" });
  const checkpoints = events.flatMap(({ data }) => {
    const { type, payload } = data as { type: string; payload: { checkpoint: unknown } };
    return type === "checkpoint" ? [payload.checkpoint] : [];
  });
  const history = await object.getHistory(
    { ns: "", limit: 10, checkpoint_id: null, before_id: null, metadata: null },
    revision,
  );
  if (!history.ok) throw new Error("no history");
  const states = JSON.parse(history.value) as { checkpoint: unknown }[];
  expect(checkpoints.reverse()).toEqual(states.map(({ checkpoint }) => checkpoint));
});

test("a graph sees its configuration, and an earlier run's stays on the thread", async () => {
  const { wait } = await testThread();
  const first = await wait("config", {
    input: { n: 1 },
    config: { configurable: { user: "ada" } },
  });
  expect(first.seen).toMatchObject({ user: "ada", graph_id: "config" });
  const second = await wait("config", { input: { n: 2 } });
  expect(second.seen).toMatchObject({ user: "ada" });
});

test("a plain generator is an agent: its yields are updates, its messages a conversation", async () => {
  const { object, stream, wait } = await testThread();
  const input = { messages: [{ role: "user", content: "hi" }] };
  const events = await stream("plain", { input, stream_mode: ["values", "updates", "custom"] });
  expect(namesOf(events)).toEqual([
    "metadata",
    "values",
    "custom",
    "updates",
    "values",
    "updates",
    "values",
  ]);
  expect(await wait("plain", { input })).toMatchObject({ count: 3 });
  const { values } = (await object.getThread()) as ThreadRecord;
  const { messages } = values as { messages: unknown[] };
  expect(messages).toMatchObject([
    { type: "human", content: "hi" },
    { type: "ai", content: "heard 1" },
    { type: "human", content: "hi" },
    { type: "ai", content: "heard 3" },
  ]);
});

test("a factory builds its graph from the run's configurable", async () => {
  const { wait } = await testThread();
  const values = await wait("factory", {
    input: { delay_ms: 1 },
    config: { configurable: { node: "mine" } },
  });
  expect(values.log).toEqual(["mine"]);
});

test("a factory receives the purpose of its graph, and the context of a run", async () => {
  const { object, wait, revision } = await testThread();
  const config = { configurable: { seen: true } };
  const values = await wait("factory", { input: { delay_ms: 1 }, config, context: { of: "run" } });
  expect(values.log).toEqual(["threads.create_run", '{"of":"run"}']);
  // The thread's later calls have the run's configurable too.
  const updated = await object.updateState(stateUpdate({ log: [] }, "threads.update"), revision);
  expect(updated).toMatchObject({ ok: true });
});

test.each([
  ["looks", {}, "{}"],
  ["looks", { context: { who: "ada" } }, '{"who":"ada"}'],
  ["looks_within", {}, '{"of":"graph"}'],
  ["looks_strictly", { config: { configurable: { who: "ada" } } }, "null"],
])("the graph %s, run with %j, reads the context %s", async (graph, given, seen) => {
  const { wait } = await testThread();
  expect((await wait(graph, { input: {}, ...given })).log).toEqual([seen]);
});

test("a run with after_seconds starts when it is due", async () => {
  const { create, join, object } = await testThread();
  const before = Date.now();
  const run = await create("echo", { input: hi, after_seconds: 1 });
  expect(run.status).toBe("pending");
  const due = Date.parse(run.created_at);
  expect(due).toBeGreaterThanOrEqual(before + 1000);
  await join(run.run_id);
  expect(Date.now()).toBeGreaterThanOrEqual(due);
  expect((await object.getRun(run.run_id))?.status).toBe("success");
});

test("state can be updated as a node, and not while a run is in flight", async () => {
  const { object, wait, create, revision } = await testThread();
  await wait("steps", { input: {}, interrupt_before: ["c"] });
  const update = stateUpdate({ log: ["by hand"] }, "c");
  const updated = await object.updateState(update, revision);
  expect(updated).toMatchObject({ ok: true });
  expect(await object.getThread()).toMatchObject({
    status: "idle",
    values: { log: ["a", "b", "by hand"] },
  });
  await create("steps", { input: { delay_ms: 10_000 } });
  expect(await object.updateState(update, revision)).toEqual({ ok: false, error: "busy" });
  await object.deleteThread();
});

test("a state update beside a new run is stored before the run, or refused", async () => {
  const { object, wait, create, join, revision } = await testThread();
  await wait("steps", { input: {} });
  const update = stateUpdate({ log: ["late"] }, "c");
  const [updated, run] = await Promise.all([
    object.updateState(update, revision),
    create("steps", { input: { delay_ms: 20 } }),
  ]);
  const { log } = await join(run.run_id);
  // Either the update came first and the run continued from it, or it was refused.
  const expected = updated.ok ? ["a", "b", "c", "late"] : ["a", "b", "c"];
  expect(log).toEqual([...expected, "a", "b", "c"]);
});

test("a deleted thread ends its stream and takes nothing more", async () => {
  const { object, order, create } = await testThread();
  const { run_id } = await create("steps", {
    input: { delay_ms: 10_000 },
    stream_mode: "updates",
  });
  const stream = await object.followRun(run_id, EVERYTHING);
  expect(await object.deleteThread()).toBe(true);
  expect(stream && namesOf(await readEvents(stream))).toEqual(["metadata"]);
  expect(await object.getThread()).toBeNull();
  expect(await object.createRun(order("echo"))).toEqual({ ok: false, refusal: "thread_missing" });
  expect(await object.deleteThread()).toBe(false);
});
