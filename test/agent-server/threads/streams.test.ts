import { describe, expect, test } from "vitest";
import { eventsOf, nextOf } from "../../support/events.ts";
import {
  EVERYTHING,
  namesOf,
  readEvents,
  readText,
  type SentEvent,
  testThread,
} from "../../support/threads.ts";

const hi = { messages: [{ role: "user", content: "hi" }] };
type Fields = Record<string, unknown>;
type Message = { type: string; content: string; id: string };

const dataOf = (events: SentEvent[], name: string) =>
  events.filter(({ event }) => event === name).map(({ data }) => data);
const modesOf = (events: SentEvent[]) =>
  new Set(namesOf(events).map((name) => name.split(/[|/]/)[0] ?? ""));

describe("events", () => {
  test("LangChain's own events, without what the graph streams", async () => {
    const { stream } = await testThread();
    const events = await stream("tokens", { input: hi, stream_mode: "events" });
    expect(modesOf(events)).toEqual(new Set(["metadata", "events"]));
    const parts = dataOf(events, "events") as (Fields & { event: string; data: Fields })[];
    const names = parts.map(({ event }) => event);
    expect(names[0]).toBe("on_chain_start");
    expect(names.at(-1)).toBe("on_chain_end");
    expect(names).toContain("on_chat_model_stream");
    const root = parts[0];
    expect(root).toMatchObject({ run_id: expect.any(String), name: expect.any(String) });
    expect(
      parts.filter(({ run_id, event }) => run_id === root?.run_id && /stream/.test(event)),
    ).toEqual([]);
    expect(parts.at(-1)?.data.output).toMatchObject({
      messages: [{ type: "human" }, { type: "ai", content: "one two three" }],
    });
  });

  test("beside other modes, which lose nothing by it", async () => {
    const { stream, object } = await testThread();
    const modes = ["values", "updates", "messages-tuple", "custom"];
    const body = { input: { log: [] }, stream_subgraphs: true };
    const alone = await stream("nested", { ...body, stream_mode: modes });
    const beside = await stream("nested", { ...body, stream_mode: [...modes, "events"] });
    const withoutIds = (events: SentEvent[]) =>
      namesOf(events)
        .filter((name) => name !== "events")
        .map((name) => name.replace(/:[^|]*/g, ""));
    expect(withoutIds(beside)).toEqual(withoutIds(alone));
    expect(dataOf(beside, "events").length).toBeGreaterThan(3);
    expect((await object.getThread())?.status).toBe("idle");
  });

  test("a value that JSON cannot hold costs its event's data, not the run", async () => {
    const { object, stream } = await testThread();
    const events = await stream("odd", { input: { log: [] }, stream_mode: ["events"] });
    expect(dataOf(events, "error")).toEqual([]);
    expect(dataOf(events, "events")).toContainEqual(
      expect.objectContaining({ event: "on_chain_end", name: "RunnableLambda", data: {} }),
    );
    expect((await object.getThread())?.status).toBe("idle");
  });
});

test("tools emits each call of a tool, its input and its output", async () => {
  const { stream } = await testThread();
  const events = await stream("tooled", { input: hi, stream_mode: ["tools"] });
  expect(modesOf(events)).toEqual(new Set(["metadata", "tools"]));
  expect(dataOf(events, "tools")).toMatchObject([
    { event: "on_tool_start", name: "look_up" },
    { event: "on_tool_end", name: "look_up" },
  ]);
});

test("tasks emits each task twice, checkpoints each state", async () => {
  const { stream } = await testThread();
  const events = await stream("steps", { input: {}, stream_mode: ["tasks", "checkpoints"] });
  const tasks = dataOf(events, "tasks") as Fields[];
  expect(tasks.map(({ name }) => name)).toEqual(["a", "a", "b", "b", "c", "c"]);
  expect(tasks[0]).toMatchObject({ input: {}, triggers: ["branch:to:a"], interrupts: [] });
  expect(tasks[1]).toMatchObject({ id: tasks[0]?.id, result: { log: ["a"] }, interrupts: [] });
  const checkpoints = dataOf(events, "checkpoints") as Fields[];
  expect(checkpoints.map(({ next }) => next)).toEqual([["__start__"], ["a"], ["b"], ["c"], []]);
  expect(checkpoints.at(-1)).toMatchObject({
    values: { log: ["a", "b", "c"] },
    metadata: { source: "loop", step: 3 },
  });
});

describe("a joined stream that begins after a checkpoint", () => {
  type StateEvent = { checkpoint: { checkpoint_id: string }; values: { log: string[] } };
  const logOf = (data: unknown) => ((data as StateEvent).values ?? data).log;

  test.each([["checkpoints"], ["debug"], ["checkpoints", "debug"]])(
    "skips events up to a checkpoint that the run emitted by %s %s",
    async (...modes) => {
      const { stream, wait, object } = await testThread();
      await wait("steps", { input: {} });
      const body = { input: {}, stream_mode: ["values", ...modes] };
      const all = await stream("steps", body);
      const states = all.flatMap(({ event, data }) => {
        const parts =
          event === "debug" ? (data as { payload: StateEvent }).payload : (data as StateEvent);
        return modes.includes(event) && parts.checkpoint ? [parts] : [];
      });
      const listed = await object.listRuns({ limit: 1, offset: 0 });
      const [run] = listed.ok ? listed.runs : [];
      const since = async (checkpoint_id: string) => {
        const joined = await object.followRun(run?.run_id ?? "", { ...EVERYTHING, checkpoint_id });
        return joined ? readEvents(joined) : [];
      };
      const log = ["a", "b", "c", "a", "b"];
      const atB = states.find(({ values }) => values.log.length === log.length);
      const later = await since(atB?.checkpoint.checkpoint_id ?? "");
      expect(all.slice(-later.length)).toEqual(later);
      expect(dataOf(later, "values").map(logOf)).toEqual([[...log, "c"]]);
      const parent = all.flatMap(({ data }) => {
        const { payload = data } = data as { payload?: unknown };
        return (
          (payload as { parent_checkpoint?: StateEvent["checkpoint"] }).parent_checkpoint ?? []
        );
      })[0];
      for (const id of [parent?.checkpoint_id ?? "", crypto.randomUUID()]) {
        expect(await since(id)).toEqual(all);
      }
    },
  );
});

describe("an agent without LangGraph emits events like a graph of one node", () => {
  const MODES = ["values", "updates", "debug", "tasks", "checkpoints", "events", "tools"];
  // Removes ids, which differ between runs, and steps: a graph has one more for its input.
  const MASKS: [RegExp, string][] = [
    [/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/g, "id"],
    [/\d{4}-\d\d-\d\dT[\d:.]+Z/g, "time"],
    [/"graph_id":"\w+"/g, '"graph_id":"graph"'],
    [/"ls_integration":"langgraph",/g, ""],
    [/("step":|"langgraph_step":|graph:step:)-?\d+/g, "$19"],
    [/"source":"(input|loop)"/g, '"source":"any"'],
  ];
  const masked = (events: SentEvent[], name: string) =>
    dataOf(events, name).map((data) =>
      JSON.parse(
        MASKS.reduce((text, [what, by]) => text.replace(what, by), JSON.stringify(data)),
        // A node is given the whole state, a function its input.
        (key, value) => (key === "input" ? "given" : value),
      ),
    );

  /** The second run of a thread, so that each checkpoint has one before it. */
  async function parts(graph: string, input: object) {
    const { stream, wait, object, revision } = await testThread();
    await wait(graph, { input: { text: "first" } });
    const config = { tags: ["tagged"], configurable: { tone: "dry" } };
    const events = await stream(graph, { input, config, metadata: { m: 1 }, stream_mode: MODES });
    return { events, object, revision };
  }
  const isOfInput = (data: unknown) => JSON.stringify(data).includes("__start__");

  test.each([
    ["one that goes well", { text: "four" }],
    ["one that fails", { text: "" }],
  ])("in every mode: %s", async (_how, input) => {
    const [graph, plain] = await Promise.all([
      parts("counts", input),
      parts("counts_plainly", input),
    ]);
    for (const name of ["tasks", "debug", "checkpoints", "events", "values", "updates", "error"]) {
      const ofGraph = masked(graph.events, name).filter((data) => !isOfInput(data));
      expect(masked(plain.events, name), name).toEqual(ofGraph);
    }
    // Values are emitted with each yield, not at the end of the task.
    const kinds = ({ events }: typeof graph) => {
      const all = events.filter(({ data }) => !isOfInput(data));
      const kindOf = ({ event, data }: SentEvent) => [event, (data as Fields).type];
      return all.filter(({ event }) => !["events", "values"].includes(event)).map(kindOf);
    };
    expect(kinds(plain)).toEqual(kinds(graph));
  });

  test("its checkpoints are those of the history, its steps those of the states", async () => {
    const { events, object, revision } = await parts("counts_plainly", { text: "four" });
    const debug = dataOf(events, "debug") as Fields[];
    expect(debug.map(({ type, step }) => [type, step])).toEqual([
      ["checkpoint", 1],
      ["task", 2],
      ["task_result", 2],
      ["checkpoint", 2],
    ]);
    const call = { ns: "", limit: 2, checkpoint_id: null, before_id: null, metadata: null };
    const answer = await object.getHistory(call, revision);
    const history = JSON.parse("value" in answer ? answer.value : "[]");
    const checkpoints = (dataOf(events, "checkpoints") as Fields[]).reverse();
    const ofState = ({ metadata, checkpoint, parent_checkpoint, values }: Fields) => {
      const { step, source } = metadata as Fields;
      return { step, source, checkpoint, parent_checkpoint, values };
    };
    expect(checkpoints.map(ofState)).toEqual(history.map(ofState));
    expect(dataOf(events, "tasks")[0]).toMatchObject({ input: { text: "four" } });
  });

  test("what it yields in parts is the result of its one task", async () => {
    const { stream } = await testThread();
    const events = await stream("plain", { input: {}, stream_mode: ["tasks", "updates"] });
    expect(namesOf(events)).toEqual(["metadata", "tasks", "updates", "updates", "tasks"]);
    expect(dataOf(events, "tasks").at(-1)).toMatchObject({
      result: { messages: [{ content: "heard 0" }], count: 0 },
    });
  });
});

describe("messages", () => {
  test("of a model in a subgraph arrive token by token, of one that is not to be streamed at once", async () => {
    const { stream } = await testThread();
    const events = await stream("team", {
      input: hi,
      stream_mode: "messages",
      stream_subgraphs: true,
    });
    expect(new Set(namesOf(events))).toEqual(
      new Set(["metadata", "messages/metadata", "messages/partial", "messages/complete"]),
    );
    expect(namesOf(events).at(-1)).toBe("messages/complete");
    const partials = dataOf(events, "messages/partial") as Message[][];
    expect(partials.at(-1)).toMatchObject([{ type: "ai", content: "from within" }]);
    expect(dataOf(events, "messages/metadata")).toHaveLength(1);
    const complete = (dataOf(events, "messages/complete") as Message[][]).flat();
    expect(complete.map(({ content }) => content)).toEqual(["hi", "from within", "in silence"]);
    expect(new Set(complete.map(({ id }) => id)).size).toBe(3);
  });

  test("beside values, the last event is still messages/complete", async () => {
    const { stream } = await testThread();
    const events = await stream("tokens", { input: hi, stream_mode: ["messages", "values"] });
    expect(namesOf(events).at(-1)).toBe("messages/complete");
  });
});

describe("namespaces", () => {
  const body = {
    input: hi,
    stream_mode: ["values", "updates", "messages-tuple"],
    stream_subgraphs: true,
  };
  const graphs = (events: SentEvent[]) =>
    new Set(namesOf(events).map((name) => name.replace(/:[^|]*/g, "")));

  test("each event of a subgraph names its graph, those of the root do not", async () => {
    const { stream } = await testThread();
    expect(graphs(await stream("team", body))).toEqual(
      new Set([
        "metadata",
        "values",
        "updates",
        "messages|quiet",
        "values|writer",
        "updates|writer",
        "messages|writer|model",
      ]),
    );
  });

  test("a reader may select graphs by namespace", async () => {
    const { object, create, join } = await testThread();
    const { run_id } = await create("team", body);
    await join(run_id);
    const read = async (namespaces: string[]) => {
      const stream = await object.followRun(run_id, { ...EVERYTHING, namespaces });
      if (!stream) throw new Error("no stream");
      return readEvents(stream);
    };
    const root = new Set(["metadata", "values", "updates", "messages|quiet"]);
    const within = ["values|writer", "updates|writer", "messages|writer|model"];
    expect(graphs(await read([""]))).toEqual(root);
    expect(graphs(await read(["writer"]))).toEqual(new Set(["metadata", ...within]));
    expect(graphs(await read(["", "writer"]))).toEqual(new Set([...root, ...within]));
    const [exact = ""] = namesOf(await read(["writer"])).flatMap(
      (name) => name.split("|")[1] ?? [],
    );
    expect(graphs(await read([exact]))).toEqual(new Set(["metadata", ...within]));
    expect(graphs(await read(["writer:none"]))).toEqual(new Set(["metadata"]));
  });

  test("subgraphs emit no checkpoints unless requested", async () => {
    const { stream } = await testThread();
    const events = await stream("nested", {
      input: { log: [] },
      stream_mode: ["values", "updates"],
      stream_subgraphs: true,
    });
    expect(modesOf(events)).toEqual(new Set(["metadata", "values", "updates"]));
  });
});

describe("interrupts", () => {
  test("inside a subgraph, they are emitted in every mode and resumed one by one", async () => {
    const { object, stream, wait } = await testThread();
    const modes = { stream_mode: ["values", "updates"], stream_subgraphs: true };
    const events = await stream("interrupts_within", { input: {}, ...modes });
    const interrupted = { __interrupt__: [{ value: { question: "first?" } }] };
    expect(events.at(-1)).toMatchObject({ event: "values", data: interrupted });
    expect(dataOf(events, "updates").at(-1)).toMatchObject(interrupted);
    expect((await object.getThread())?.status).toBe("interrupted");
    const again = await wait("interrupts_within", { command: { resume: "one" } });
    expect(again.__interrupt__).toMatchObject([{ value: { question: "second?" } }]);
    const done = await wait("interrupts_within", { command: { resume: "two" } });
    expect(done.log).toEqual(["before", "one two", "done"]);
  });

  test("a map answers them by their ids", async () => {
    const { wait } = await testThread();
    const [{ id }] = (await wait("ask", { input: {} })).__interrupt__;
    const done = await wait("ask", { command: { resume: { [id]: "by id" } } });
    expect(done.log).toEqual(["answer: by id", "done"]);
  });

  test("strict_resume refuses an unexpected response, and the right one still counts", async () => {
    const { wait, object } = await testThread();
    const strict = (resume: unknown) => wait("ask", { command: { resume }, strict_resume: true });
    const [{ id }] = (await wait("ask", { input: {} })).__interrupt__;
    // An id is checked before the run exists.
    await expect(strict({ ["0".repeat(32)]: "yes" })).rejects.toThrow("unknown_interrupt");
    expect((await strict({ [id]: "yes" })).log).toEqual(["answer: yes", "done"]);
    const late = await strict("again");
    expect(late.__error__).toMatchObject({ error: "UnknownInterruptError" });
    expect((await object.getThread())?.values).toEqual({ log: ["answer: yes", "done"] });
  });

  test("interrupt_before and interrupt_after stop with an empty list, and * means every node", async () => {
    const { stream, wait, object } = await testThread();
    const modes = { stream_mode: ["values", "updates"] };
    const before = await stream("steps", { input: {}, interrupt_before: ["b"], ...modes });
    expect(before.at(-1)).toMatchObject({ event: "values", data: { __interrupt__: [] } });
    expect(await wait("steps", { interrupt_after: ["b"] })).toEqual({ log: ["a", "b"] });
    expect((await object.getThread())?.status).toBe("interrupted");
    await wait("steps", {});
    const all = [];
    for (let n = 0; n < 4; n++) {
      const values = await wait(
        "steps",
        n === 0 ? { input: {}, interrupt_after: "*" } : { interrupt_after: "*" },
      );
      all.push(values.log.slice(3).join(""));
    }
    expect(all).toEqual(["a", "ab", "abc", "abc"]);
  });
});

test("the result of a run that is over is a text, and of one that is not a stream", async () => {
  const { object, order } = await testThread();
  const over = order("echo", { input: { messages: [{ role: "user", content: "hi" }] } });
  const first = await object.waitRun(over, "continue");
  if (!first.ok) throw new Error(first.refusal);
  const text = await readText(first.body);
  const again = await object.waitRun(over, "continue");
  expect(again).toMatchObject({ ok: true, body: text });
  const slow = await object.waitRun(order("steps", { input: { delay_ms: 500 } }), "continue");
  if (!slow.ok) throw new Error(slow.refusal);
  expect(slow.body).toBeInstanceOf(ReadableStream);
  expect(JSON.parse(await readText(slow.body))).toMatchObject({ log: ["a", "b", "c"] });
});

test("the events of a run that is over are a text, and those of one that is not, or has many, a stream", async () => {
  const { object, order, follow } = await testThread();
  const begin = async (run: ReturnType<typeof order>) => {
    const answer = await object.streamRun(run, EVERYTHING);
    if (!answer.ok) throw new Error(answer.refusal);
    return answer.events;
  };
  const over = order("echo", { input: hi });
  const events = await readEvents(await begin(over));
  const again = await begin(over);
  expect(again).toBeTypeOf("string");
  expect(await readEvents(again)).toEqual(events);
  expect(events).toEqual(await follow(over.run_id));

  const slow = await begin(order("steps", { input: { delay_ms: 200 } }));
  expect(slow).toBeInstanceOf(ReadableStream);
  expect(namesOf(await readEvents(slow))).toContain("values");

  const content = "x".repeat(300_000);
  const large = order("echo", { input: { messages: [{ role: "user", content }] } });
  const whole = await readEvents(await begin(large));
  expect(await begin(large)).toBeInstanceOf(ReadableStream);
  expect(whole).toEqual(await follow(large.run_id));
});

test("a reader of a thread's lifecycle that reconnects receives what ended while it was away", async () => {
  const { object, wait } = await testThread();
  await wait("echo", { input: hi });
  const follow = async (after: number) => {
    const stream = await object.followThread({ after, modes: ["lifecycle"] });
    if (!stream) throw new Error("The thread has no stream.");
    const body = new Response(stream, { headers: { "Content-Type": "text/event-stream" } });
    return eventsOf(body);
  };
  const events = await follow(0);
  const first = [await nextOf(events), await nextOf(events)];
  expect(first.map(({ data }) => data.event)).toEqual(["running", "completed"]);
  await wait("echo", { input: hi });
  const again = await follow(Number(first[1]?.id));
  const received = [await nextOf(again), await nextOf(again), await nextOf(again)];
  expect(received.map(({ data }) => data.event)).toEqual(["completed", "running", "completed"]);
});
