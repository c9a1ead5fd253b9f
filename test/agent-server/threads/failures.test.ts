import { describe, expect, test } from "vitest";
import { namesOf, type SentEvent, testThread } from "../../support/threads.ts";

type Thread = Awaited<ReturnType<typeof testThread>>;

const MODES = ["values", "updates", "custom", "tasks", "checkpoints", "debug", "messages-tuple"];
const CHARACTERS = "one two three four five six seven eight nine ten".length;

const of = (events: SentEvent[], mode: string) =>
  events.filter(({ event }) => event === mode).map(({ data }) => data as Record<string, unknown>);

describe("a graph that fails between two steps sends every event before its error", () => {
  test.each([
    ["collide", "InvalidUpdateError", ["first", "left", "right"]],
    ["reduce", "Error", ["first", "left", "right"]],
  ])("%s", async (how, error, nodes) => {
    const { stream } = await testThread();
    const events = await stream("breaks", { input: { how }, stream_mode: MODES });
    expect(of(events, "custom")).toEqual(Array.from({ length: 20 }, (_, n) => ({ n })));
    const tokens = of(events, "messages").length;
    expect(tokens).toBeGreaterThanOrEqual(CHARACTERS);
    expect(of(events, "updates").flatMap(Object.keys).sort()).toEqual(nodes);
    const results = of(events, "tasks").filter((task) => "result" in task || "error" in task);
    expect(results.map(({ name }) => name).sort()).toEqual(nodes);
    expect(of(events, "values").at(-1)).toMatchObject({ how, n: 1 });
    expect(of(events, "checkpoints").at(-1)).toMatchObject({ next: ["left", "right"] });
    expect(of(events, "debug").filter(({ type }) => type === "task_result")).toHaveLength(3);
    expect(events.at(-1)).toMatchObject({ event: "error", data: { error } });
  });

  test("at the recursion limit", async () => {
    const { stream } = await testThread();
    const config = { recursion_limit: 4 };
    const body = { input: { how: "loop" }, config, stream_mode: MODES };
    const events = await stream("breaks", body);
    expect(of(events, "custom")).toHaveLength(40);
    expect(of(events, "updates").flatMap(Object.keys).sort()).toEqual(
      ["first", "first", "left", "left", "right", "right"].sort(),
    );
    expect(of(events, "values").at(-1)).toMatchObject({ messages: [{}, {}] });
    expect(events.at(-1)).toMatchObject({
      event: "error",
      data: { error: "GraphRecursionError" },
    });
  });

  test("with LangChain's events too", async () => {
    const { stream } = await testThread();
    const body = { input: { how: "collide" }, stream_mode: [...MODES, "events"] };
    const events = await stream("breaks", body);
    expect(of(events, "custom")).toHaveLength(20);
    expect(of(events, "updates").flatMap(Object.keys).sort()).toEqual(["first", "left", "right"]);
    expect(namesOf(events).at(-1)).toBe("error");
  });
});

async function headOf({ object, revision }: Pick<Thread, "object" | "revision">) {
  const at = { ns: "", checkpoint_id: null, subgraphs: false };
  const answer = await object.getState(at, revision);
  if (!answer.ok) throw new Error(JSON.stringify(answer));
  return JSON.parse(answer.value);
}

describe("errors of a graph", () => {
  test.each([
    [{ message: "obj", x: 1 }, '{"message":"obj","x":1}'],
    [{ name: "Quota", code: 7 }, '{"name":"Quota","code":7}'],
    [["a", 1], '["a",1]'],
  ])("a thrown %j keeps its fields", async (thrown, message) => {
    const { object, stream } = await testThread();
    const events = await stream("throws", { input: { thrown } });
    expect(events.at(-1)).toMatchObject({ event: "error", data: { error: "Error", message } });
    expect((await object.getThread())?.error).toMatchObject({ error: "Error", message });
  });

  test("the error of a task has a message, and its name under both keys", async () => {
    const { object, stream, revision } = await testThread();
    await stream("fails", { input: { messages: [] } });
    const [task] = (await headOf({ object, revision })).tasks;
    const { error, name, message } = JSON.parse(task.error);
    expect([error, name, message]).toEqual(["RangeError", "RangeError", "the node broke"]);
  });

  test("the state of a thread whose pending writes its graph rejects is readable", async () => {
    const { object, stream, revision } = await testThread();
    await stream("breaks", { input: { how: "collide" } });
    const head = { values: { n: 1 }, next: ["left", "right"] };
    expect(await headOf({ object, revision })).toMatchObject(head);
  });

  test.each([
    [{ message: { of: 1 } }, { error: "Error", message: '{"of":1}' }],
    [{ name: 404 }, { error: "404", message: "a text" }],
    [
      { name: null, message: null },
      { error: "Error", message: "" },
    ],
    [{ stack: { of: 1 } }, { error: "Error", message: "a text" }],
  ])("an error with the fields %j is the agent's own, after its steps", async (fields, error) => {
    const { object, stream, revision } = await testThread();
    await stream("breaks_oddly", { input: { fields } });
    expect((await object.getThread())?.error).toMatchObject(error);
    expect(await headOf({ object, revision })).toMatchObject({ values: { n: 1, fields } });
  });

  test.each([
    [
      "a question of 9,000,000 characters",
      { characters: 9_000_000 },
      "summary.interrupts: must have",
    ],
    ["a channel with a long name", {}, "channel: must have at most 2048 characters"],
  ])("%s ends the run and leaves its input and its steps", async (_, input, message) => {
    const { object, stream, revision } = await testThread();
    await stream("breaks_oddly", { input: { ...input, n: 0 } });
    const error = { error: "InvalidOutcomeError", message: expect.stringContaining(message) };
    expect((await object.getThread())?.error).toMatchObject(error);
    expect(await headOf({ object, revision })).toMatchObject({ values: { ...input, n: 1 } });
  });
});
