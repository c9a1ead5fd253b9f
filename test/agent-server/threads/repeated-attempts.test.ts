import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { expect, onTestFinished, test, vi } from "vitest";
import type { ThreadObject } from "../../../src/agent-server/threads/object/object.ts";
import { ThreadStore } from "../../../src/agent-server/threads/object/storage/store.ts";
import type { Op } from "../../../src/isolate/contract.ts";
import { eventually } from "../../support/eventually.ts";
import { testThread } from "../../support/threads.ts";

type Thread = Awaited<ReturnType<typeof testThread>>;

/** Runs a graph, and ends its object before it stores the first batch that has what `isLost` finds. */
async function runAndCrash(
  { place, create, join, object }: Thread,
  graph_id: string,
  body: Record<string, unknown>,
  isLost: (op: Op) => boolean,
) {
  const stub = env.THREADS.getByName(
    `${place.deployment_id}/${place.thread_id}`,
  ) as DurableObjectStub<ThreadObject>;
  const objectState = await runInDurableObject(stub, (_instance, state) => state);
  const { apply } = ThreadStore.prototype;
  let crashes = 0;
  const crashing = vi.spyOn(ThreadStore.prototype, "apply").mockImplementation(function (
    this: ThreadStore,
    ...[id, ops]
  ) {
    if (crashes === 0 && ops.some(isLost)) {
      crashes += 1;
      // Throws.
      objectState.abort("crash");
    }
    return apply.call(this, id, ops);
  });
  onTestFinished(() => crashing.mockRestore());
  const { run_id } = await create(graph_id, { durability: "sync", ...body });
  await eventually(async () => expect(crashes).toBe(1));
  await join(run_id);
  return object.getThread();
}

function writes(name: string, text: string) {
  return (op: Op) =>
    op.op === "writes" &&
    op.writes.some(({ channel, data }) => {
      return channel === name && new TextDecoder().decode(data).includes(text);
    });
}

function pending(thread: unknown): unknown[] {
  const { interrupts } = thread as { interrupts: Record<string, { value: unknown }[]> };
  return Object.values(interrupts).flatMap((list) => list.map(({ value }) => value));
}

async function questionsOf({ object }: Thread): Promise<Record<string, string>> {
  const { interrupts } = (await object.getThread()) as unknown as {
    interrupts: Record<string, { id: string; value: string }[]>;
  };
  const all = Object.values(interrupts).flat();
  return Object.fromEntries(all.map(({ id, value }) => [value, id]));
}

const INPUT = { input: { delay_ms: 50 } };

test("an answer that a subgraph has taken before its isolate is lost answers no later question", async () => {
  const thread = await testThread();
  await thread.wait("interrupts_in_turn", INPUT);
  const after = await runAndCrash(
    thread,
    "interrupts_in_turn",
    { command: { resume: "yes" } },
    writes("__interrupt__", "second?"),
  );
  expect(pending(after)).toEqual(["second?"]);
  const { log } = await thread.wait("interrupts_in_turn", { command: { resume: "no" } });
  expect(log).toEqual(["first? yes", "rested", "second? no"]);
});

test("an answer of a node is given again when the subgraph that it calls is lost", async () => {
  const thread = await testThread();
  await thread.wait("interrupts_then_calls", INPUT);
  const after = await runAndCrash(
    thread,
    "interrupts_then_calls",
    { command: { resume: "yes" } },
    writes("__interrupt__", "last?"),
  );
  expect(pending(after)).toEqual(["last?"]);
  const { log } = await thread.wait("interrupts_then_calls", { command: { resume: "no" } });
  expect(log).toEqual(["may I? yes", "begun", "rested", "last? no"]);
});

test.each(["all", "by id"])(
  "an answer to the first question of a node is not one to its second when an attempt is lost: %s",
  async (form) => {
    const thread = await testThread();
    await thread.wait("interrupts_beside_a_step", INPUT);
    const ids = await questionsOf(thread);
    const byId = { [ids["first?"] ?? ""]: "yes", [ids["rest?"] ?? ""]: "yes" };
    const after = await runAndCrash(
      thread,
      "interrupts_beside_a_step",
      { command: { resume: form === "all" ? "yes" : byId } },
      writes("log", "rested yes"),
    );
    expect(pending(after)).toEqual(["second?"]);
    const { log } = await thread.wait("interrupts_beside_a_step", { command: { resume: "no" } });
    expect(log).toEqual(["yes no", "rested yes"]);
  },
);

test("answers of a task that has ended before an attempt is lost can be changed later", async () => {
  const thread = await testThread();
  const graph_id = "interrupts_beside_a_step";
  await thread.wait(graph_id, INPUT);
  const { "first?": first = "" } = await questionsOf(thread);
  const { checkpoint } = await stateOf(thread);
  await thread.wait(graph_id, { command: { resume: { [first]: "one" } } });
  const { "second?": second = "", "rest?": other = "" } = await questionsOf(thread);
  const resume = { [second]: "two", [other]: "yes" };
  await runAndCrash(thread, graph_id, { command: { resume } }, writes("log", "rested yes"));
  expect((await stateOf(thread)).values.log).toEqual(["one two", "rested yes"]);
  const { checkpoint_id } = checkpoint;
  const { log } = await thread.wait(graph_id, { command: { resume: "three" }, checkpoint_id });
  expect(log).toEqual(["one three", "rested three"]);
});

const isStop = (op: Op) => op.op === "event" && op.data.includes("__interrupt__");

test.each([
  ["before a node", "steps", { interrupt_before: ["b"] }, "b", ["a", "b", "c"]],
  ["after a node", "steps", { interrupt_after: ["a"] }, "b", ["a", "b", "c"]],
  ["before the first node", "steps", { interrupt_before: ["a"] }, "a", ["a", "b", "c"]],
  ["before each node", "steps", { interrupt_before: "*" }, "a", ["a"]],
  ["after each node", "steps", { interrupt_after: "*" }, "b", ["a", "b"]],
  ["in a subgraph", "stops_within", {}, "inner", ["before", "work", "after"]],
  ["after a node of a subgraph", "stops_after_within", {}, "inner", ["before", "work", "after"]],
])(
  "a breakpoint stops a run whose attempt is lost there: %s",
  async (_, graph_id, breakpoint, next, log) => {
    const thread = await testThread();
    const body = { ...breakpoint, input: { delay_ms: 0 }, stream_mode: "updates" };
    const after = await runAndCrash(thread, graph_id, body, isStop);
    expect(after?.status).toBe("interrupted");
    expect(await nextOf(thread)).toEqual([next]);
    const end = await thread.wait(graph_id, { ...breakpoint, input: null });
    expect(end.log).toEqual(log);
  },
);

test("a breakpoint after sent tasks stops a run whose attempt is lost there, in each run of a thread", async () => {
  const thread = await testThread();
  const graph_id = "sends_to_workers";
  const breakpoint = { interrupt_after: ["worker"] };
  await thread.wait(graph_id, { ...INPUT, ...breakpoint });
  await thread.wait(graph_id, { ...breakpoint, input: null });
  const body = { ...INPUT, ...breakpoint, stream_mode: "updates" };
  const after = await runAndCrash(thread, graph_id, body, isStop);
  expect(after?.status).toBe("interrupted");
  expect(await nextOf(thread)).toEqual(["pay"]);
  const { log } = await thread.wait(graph_id, { ...breakpoint, input: null });
  const once = ["routed", "a", "b", "paid"];
  expect(log).toEqual([...once, ...once]);
});

test("a breakpoint that a run has passed does not stop its next attempt", async () => {
  const thread = await testThread();
  const breakpoint = { interrupt_after: ["plan"] };
  await thread.wait("plans", { ...INPUT, ...breakpoint });
  const body = { ...breakpoint, input: null };
  const after = await runAndCrash(thread, "plans", body, writes("log", "rested"));
  expect(after?.status).toBe("idle");
  expect(after?.values).toMatchObject({
    log: ["planned", "planned", "begun", "rested", "reported"],
  });
});

test("a run from a checkpoint of a subgraph whose attempt is lost does not go back there again", async () => {
  const thread = await testThread();
  await thread.wait("stops_within", INPUT);
  const answer = await thread.object.getState(
    { ns: "", checkpoint_id: null, subgraphs: true },
    thread.revision,
  );
  const [task] = answer.ok ? JSON.parse(answer.value).tasks : [];
  const { checkpoint_id, checkpoint_ns, checkpoint_map } = task.state.checkpoint;
  const configurable = { checkpoint_id, checkpoint_ns, checkpoint_map };
  const body = { input: null, stream_mode: "updates", config: { configurable } };
  const after = await runAndCrash(thread, "stops_within", body, writes("log", "after"));
  expect(after?.status).toBe("idle");
  expect((await stateOf(thread)).values.log).toEqual(["before", "work", "after"]);
});

async function nextOf(thread: Thread): Promise<string[]> {
  return (await stateOf(thread)).next;
}

async function stateOf({ object, revision }: Thread) {
  const answer = await object.getState({ ns: "", checkpoint_id: null, subgraphs: false }, revision);
  if (!answer.ok) throw new Error(JSON.stringify(answer.error));
  return JSON.parse(answer.value);
}

test.each([
  ["a graph", "steps", { delay_ms: 600_000 }],
  ["a function", "plain", { wait_ms: 600_000 }],
])("%s does not work to its end when a commit fails", async (_, graph_id, input) => {
  const { create, object, place } = await testThread();
  const failing = vi.spyOn(ThreadStore.prototype, "apply").mockImplementationOnce(() => {
    throw new Error("the storage is full");
  });
  onTestFinished(() => failing.mockRestore());
  const { run_id } = await create(graph_id, { input });
  const stub = env.THREADS.getByName(`${place.deployment_id}/${place.thread_id}`);
  await eventually(async () => {
    const attempts = await runInDurableObject(stub, (_instance, { storage }) =>
      storage.sql.exec("SELECT attempt FROM runs").toArray(),
    );
    expect(attempts).toEqual([{ attempt: 2 }]);
  });
  await object.cancelRun(run_id, "interrupt", { wait: true, reason: null });
});
