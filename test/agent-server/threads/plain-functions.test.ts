import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { uuid6 } from "@langchain/langgraph-checkpoint";
import { v6, v7 } from "uuid";
import { describe, expect, test } from "vitest";
import type { LoadedCheckpoint } from "../../../src/isolate/checkpoint-contract.ts";
import { Heads } from "../../../src/isolate/checkpoints/heads.ts";
import { applyUpdate, readState, toOp } from "../../../src/isolate/functions/function-state.ts";
import { LateTimer } from "../../../src/isolate/tcp/late-timer.ts";
import { toWire } from "../../../src/isolate/wire.ts";
import { newId } from "../../../src/shared/storage/ids.ts";
import { eventually } from "../../support/eventually.ts";
import { stateUpdate, testThread } from "../../support/threads.ts";

type Thread = Awaited<ReturnType<typeof testThread>>;

const hi = { messages: [{ role: "user", content: "hi" }] };

async function stateOf({ object, revision }: Thread) {
  const state = await object.getState({ ns: "", checkpoint_id: null, subgraphs: false }, revision);
  if (!state.ok) throw new Error(JSON.stringify(state.error));
  return JSON.parse(state.value);
}

/** A stored checkpoint with values as LangGraph's serializer writes them. */
function graphCheckpoint(checkpoint_id: string, values: Record<string, unknown>): LoadedCheckpoint {
  const encoder = new TextEncoder();
  return {
    ns: "",
    checkpoint_id,
    parent_id: null,
    checkpoint: JSON.stringify({ v: 4, id: checkpoint_id, versions_seen: { __input__: {} } }),
    metadata: "{}",
    values: Object.entries(values).map(([channel, value]) => ({
      channel,
      version: 1,
      type: "json",
      data: encoder.encode(JSON.stringify(value)),
    })),
    writes: [],
  };
}

/** The ids of the next checkpoints of a plain function after one. */
function idsAfter(checkpoint_id: string, count: number): string[] {
  let state = readState(graphCheckpoint(checkpoint_id, {}));
  return Array.from({ length: count }, () => {
    state = toOp(state, {}).saved;
    return state.checkpoint_id ?? "";
  });
}

describe("a plain function on the thread of a graph", () => {
  test("continues from the graph's state, and the thread keeps what each run adds", async () => {
    const thread = await testThread();
    await thread.wait("echo", { input: hi });
    expect(await thread.wait("plain", { input: hi })).toMatchObject({ count: 3 });
    const { values, parent_checkpoint } = await stateOf(thread);
    expect(values.count).toBe(3);
    expect(values.messages).toMatchObject([
      { type: "human", content: "hi" },
      { type: "ai", content: "echo: hi" },
      { type: "human", content: "hi" },
      { type: "ai", content: "heard 3" },
    ]);
    expect(parent_checkpoint).not.toBeNull();
    expect(await thread.wait("plain", { input: hi })).toMatchObject({ count: 5 });
    const { messages } = await thread.wait("echo", { input: hi });
    expect(messages).toHaveLength(8);
  });

  test("does not see the channels by which the graph selects its next node", async () => {
    const thread = await testThread();
    await thread.wait("steps", { input: { delay_ms: 0 }, interrupt_before: ["c"] });
    await thread.wait("plain", { input: hi });
    const { values } = await stateOf(thread);
    expect(Object.keys(values).sort()).toEqual(["count", "delay_ms", "log", "messages"]);
    expect(values.log).toEqual(["a", "b"]);
  });

  test.each([
    ["a checkpoint of LangGraph", () => uuid6(3)],
    ["one that an earlier version wrote", () => v7()],
  ])("writes ids that sort above %s, and in their own order", (_, before) => {
    const id = before();
    const ids = [id, ...idsAfter(id, 2000)];
    expect(ids.toSorted()).toEqual(ids);
    expect(new Set(ids).size).toBe(ids.length);
  });

  test("writes ids that sort by time among those of LangGraph", () => {
    const earlier = v6({ msecs: Date.now() - 1 });
    const [written = ""] = idsAfter(v7({ msecs: 0 }), 1);
    const later = v6({ msecs: Date.now() + 1 });
    expect([later, earlier, written].sort()).toEqual([earlier, written, later]);
    expect(written).toMatch(
      /^[0-9a-f]{8}-[0-9a-f]{4}-6[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/,
    );
  });
});

test("values of LangGraph's serializer reach a plain function as plain JSON", () => {
  const made = (name: string, ...args: unknown[]) => {
    return { lc: 2, type: "constructor", id: [name], method: null, args };
  };
  const message = (name: string, kwargs: object) => {
    return { lc: 1, type: "constructor", id: ["langchain_core", "messages", name], kwargs };
  };
  const { values, messages } = readState(
    graphCheckpoint(uuid6(0), {
      messages: [
        message("HumanMessage", { content: "hi", id: "1" }),
        message("AIMessageChunk", { content: "ho", id: "2", tool_calls: [] }),
      ],
      set: made("Set", [1, 2]),
      map: made("Map", [["a", made("Set", [1])]]),
      odd: made("Map", [1]),
      escaped: { __lc_escaped__: { lc: 1, type: "secret", id: ["KEY"] } },
      snapshot: { lc: 2, type: "delta_snapshot", value: [1] },
      nothing: { lc: 2, type: "undefined" },
      __start__: { messages: [] },
      "branch:to:a": null,
    }),
  );
  expect(messages).toEqual([
    { type: "human", content: "hi", id: "1" },
    { type: "ai", content: "ho", id: "2", tool_calls: [] },
  ]);
  expect(values).toEqual({
    messages,
    set: [1, 2],
    map: { a: [1] },
    odd: made("Map", [1]),
    escaped: { lc: 1, type: "secret", id: ["KEY"] },
    snapshot: [1],
  });
});

test("a plain function that fails leaves the values of its last checkpoint on the thread", async () => {
  const thread = await testThread();
  const { __error__ } = await thread.wait("fails_plainly", { input: hi });
  expect(__error__).toMatchObject({ error: "RangeError" });
  const { values } = (await thread.object.getThread()) ?? {};
  expect(values).toMatchObject({ messages: [{ type: "human", content: "hi" }] });
  expect((await stateOf(thread)).values).toEqual(values);
});

describe("a run of a plain function with a checkpoint", () => {
  test("begins from the state of that checkpoint", async () => {
    const thread = await testThread();
    await thread.wait("plain", { input: hi });
    const { checkpoint } = await stateOf(thread);
    const { checkpoint_id } = checkpoint;
    expect(await thread.wait("plain", { input: hi })).toMatchObject({ count: 3 });
    const { run_id } = await thread.create("plain", { input: hi, checkpoint_id });
    expect(await thread.join(run_id)).toMatchObject({ count: 3 });
    const { object, revision } = thread;
    const query = { ns: "", checkpoint_id: null, limit: 10, before_id: null, metadata: null };
    const history = await object.getHistory(query, revision);
    const [after, input] = JSON.parse(history.ok ? history.value : "[]");
    expect(after.values.messages).toHaveLength(4);
    expect(input.parent_checkpoint).toEqual(checkpoint);
  });

  test("of a subgraph fails, and names the namespace", async () => {
    const thread = await testThread();
    await thread.wait("interrupts_within", { input: {} });
    const { object, revision } = thread;
    const call = { ns: "", checkpoint_id: null, subgraphs: true };
    const state = await object.getState(call, revision);
    const [task] = JSON.parse(state.ok ? state.value : "{}").tasks;
    const { checkpoint } = task.state;
    const { __error__ } = await thread.wait("plain", { input: hi, checkpoint });
    expect(__error__.message).toContain(`no namespace "${checkpoint.checkpoint_ns}"`);
  });
});

test.each([
  ["interrupt_before", { interrupt_before: ["plain"] }],
  ["interrupt_after", { interrupt_after: "*" }],
])("a run of a plain function with %s fails, and saves nothing", async (field, body) => {
  const thread = await testThread();
  await thread.wait("plain", { input: hi, interrupt_before: [], interrupt_after: [] });
  const before = await stateOf(thread);
  const { __error__ } = await thread.wait("plain", { input: hi, ...body });
  expect(__error__.message).toBe(
    `Graph "plain" is a plain function: it accepts input, not ${field}.`,
  );
  expect(await stateOf(thread)).toEqual(before);
});

test("an update removes messages by their type, of one superstep in one checkpoint", async () => {
  const thread = await testThread();
  await thread.wait("plain", { input: { messages: [{ id: "1", type: "human", content: "one" }] } });
  const update = (...all: object[]) => ({
    ...{ ns: "", checkpoint_id: null },
    supersteps: [
      all.map((messages) => ({ values: { messages }, command: null, as_node: "plain" })),
    ],
  });
  const before = await stateOf(thread);
  const two = { id: "2", type: "human", content: "two" };
  await thread.object.updateState(update([two], [{ type: "remove", id: "1" }]), thread.revision);
  const after = await stateOf(thread);
  expect(after.values.messages.map(({ content }: { content: string }) => content)).toEqual([
    before.values.messages[1].content,
    "two",
  ]);
  expect(after.parent_checkpoint.checkpoint_id).toBe(before.checkpoint.checkpoint_id);
  const all = update([{ type: "remove", id: "__remove_all__" }, two]);
  await thread.object.updateState(all, thread.revision);
  expect((await stateOf(thread)).values.messages).toMatchObject([two]);
});

test("an instance with a toDict of another kind is shown with its fields", () => {
  class Row {
    readonly id = 1;
    toDict() {
      return { id: this.id };
    }
  }
  expect(JSON.parse(toWire({ row: new Row() }))).toEqual({ row: { id: 1 } });
});

test("the newest checkpoints of many subgraphs leave the memory, and that of the root stays", () => {
  const heads = new Heads();
  const headOf = (ns: string) => {
    const value = { channel: "a", version: 1, type: "json", data: new Uint8Array(900_000) };
    return { ...graphCheckpoint(newId(), {}), ns, values: [value] };
  };
  heads.put(headOf(""));
  for (let n = 0; n < 20; n++) heads.put(headOf(`node:${n}`));
  const kept = Array.from({ length: 20 }, (_, n) => heads.get(`node:${n}`) !== undefined);
  expect(kept.filter(Boolean).length).toBeLessThan(5);
  expect([kept[0], kept[19], heads.has("node:0"), heads.get("") !== undefined]).toEqual([
    false,
    true,
    true,
    true,
  ]);
});

test("an update of a namespace that a plain function does not have changes nothing", async () => {
  const thread = await testThread();
  await thread.wait("plain", { input: hi });
  const before = await stateOf(thread);
  const update = { ...stateUpdate({ a: 1 }, "plain"), ns: "x" };
  const answer = await thread.object.updateState(update, thread.revision);
  expect(answer).toMatchObject({
    ok: false,
    error: { message: 'Graph "plain" is a plain function: it has no namespace "x".' },
  });
  expect(await stateOf(thread)).toEqual(before);
  expect((await thread.object.getThread())?.values).toEqual(before.values);
});

test.each([
  [{ values: {}, command: null, as_node: "plian" }, 'it has no node "plian".'],
  [{ values: {}, command: { goto: "plain" }, as_node: null }, "it accepts values, not goto."],
  [{ values: {}, command: { resume: 1 }, as_node: "plain" }, "it accepts values, not resume."],
])("an update %j of a plain function changes nothing", async (refused, message) => {
  const thread = await testThread();
  await thread.wait("plain", { input: hi });
  const before = await stateOf(thread);
  const update = stateUpdate({ a: 1 }, "plain");
  const supersteps = [...update.supersteps, [refused]];
  const answer = await thread.object.updateState({ ...update, supersteps }, thread.revision);
  expect(answer).toMatchObject({
    ok: false,
    error: { message: `Graph "plain" is a plain function: ${message}` },
  });
  expect(await stateOf(thread)).toEqual(before);
});

test.each([false, true])(
  "a generator is closed when its run fails between yields; its clean-up never ends: %s",
  async (hangs) => {
    const key = newId();
    const { wait } = await testThread();
    const { __error__ } = await wait("closes_plainly", { input: { key, hangs } });
    expect(__error__.message).toContain("produced string");
    await eventually(async () => {
      const { answers } = await wait("stores", { input: { calls: [["get", ["closed"], key]] } });
      expect(answers).toMatchObject([{ value: { done: true } }]);
    });
  },
);

test.each(["5", 5, undefined, "soon"])("a timer of a module with the delay %j fires", (delay) => {
  const fired = Promise.withResolvers<unknown>();
  const timer = new LateTimer(fired.resolve, delay, ["in time"]);
  const timers = new Set<LateTimer>();
  timer.joinTo(timers);
  timer.start(timers);
  return expect(fired.promise).resolves.toBe("in time");
});

test("updates of one thread at once all count", async () => {
  const thread = await testThread();
  await thread.wait("plain", { input: hi });
  const names = ["a", "b", "c"];
  const answers = await Promise.all(
    names.map((name) =>
      thread.object.updateState(stateUpdate({ [name]: 1 }, "plain"), thread.revision),
    ),
  );
  expect(answers.map(({ ok }) => ok)).toEqual([true, true, true]);
  expect((await stateOf(thread)).values).toMatchObject({ a: 1, b: 1, c: 1 });
  expect((await thread.object.getThread())?.values).toMatchObject({ a: 1, b: 1, c: 1 });
});

test("an update at an earlier checkpoint is the newest state, also where the clock is behind", async () => {
  const thread = await testThread();
  await thread.wait("plain", { input: hi });
  const first = await stateOf(thread);
  await thread.wait("plain", { input: hi });
  const stub = env.THREADS.getByName(`${thread.place.deployment_id}/${thread.thread_id}`);
  // The head of a clock that is far ahead.
  await runInDurableObject(stub, (_, { storage }) => {
    storage.sql.exec(
      `UPDATE checkpoints SET checkpoint_id = 'f' || substr(checkpoint_id, 2)
       WHERE checkpoint_id = (SELECT max(checkpoint_id) FROM checkpoints)`,
    );
  });
  await runInDurableObject(stub, (_, state) => state.abort("restart")).catch(() => {});
  const { checkpoint_id } = first.checkpoint;
  const update = { ...stateUpdate({ forked: true }, "plain"), checkpoint_id };
  expect((await thread.object.updateState(update, thread.revision)).ok).toBe(true);
  expect((await stateOf(thread)).values).toMatchObject({ forked: true });
});

test.each([[null], [5], [[]]])("%j as a message is refused", (message) => {
  const state = readState(graphCheckpoint(v6(), {}));
  expect(() => applyUpdate(state, { messages: [message] })).toThrow("A message must be a text or");
});
