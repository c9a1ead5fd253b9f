import { describe, expect, test } from "vitest";
import { CHANNELS, type Channel } from "../../../src/agent-server/threads/events/event.ts";
import { channelsOf, isWanted } from "../../../src/agent-server/threads/events/filter.ts";
import { type ReadRun, RunEvents } from "../../../src/agent-server/threads/events/run-events.ts";
import { UntrackedChannels } from "../../../src/isolate/checkpoints/untracked-channels.ts";
import type { StreamMode } from "../../../src/isolate/contract.ts";
import { EventWriter } from "../../../src/isolate/langgraph/stream-events.ts";

type Row = [event: string, data: unknown];

const EMITTED_AT = 7;
const RUN = { run_id: "run", graph_id: "agent", protocol: "v2" } as const;
const UNTRACKED = new UntrackedChannels({});

function eventsOf(rows: Row[], wants: Channel[] = [...CHANNELS], run: ReadRun = RUN) {
  const log = new RunEvents(run, new Set(wants));
  return rows.flatMap(([event, data], n) =>
    log.toProtocolEvents({ id: n + 1, event, data: JSON.stringify(data) }, EMITTED_AT),
  );
}

const dataOf = (rows: Row[], wants?: Channel[]) =>
  eventsOf(rows, wants).map(({ method, namespace, data }) => [
    [method, ...namespace].join(" "),
    JSON.parse(data),
  ]);

describe("lifecycle below the root", () => {
  const call = { type: "tool_call", id: "call-1", name: "task", args: {} };
  const begins: Row = ["tasks", { id: "t1", name: "tools", input: { tool_call: call } }];
  const within: Row = [
    "tasks|tools:t1",
    { id: "m", name: "model", input: {}, metadata: { lc_agent_name: "researcher" } },
  ];
  const ended = (more: object): Row => ["tasks", { id: "t1", name: "tools", result: {}, ...more }];

  test("an agent that a tool calls emits its tool call and its name", () => {
    expect(dataOf([begins, within, ended({})], ["lifecycle"])).toEqual([
      [
        "lifecycle tools:t1",
        {
          event: "started",
          graph_name: "researcher",
          cause: { type: "toolCall", tool_call_id: "call-1" },
        },
      ],
      ["lifecycle tools:t1", { event: "completed", graph_name: "researcher" }],
    ]);
  });

  test.each([
    [{ error: "boom" }, "failed"],
    [{ interrupts: [{ id: "i", value: 1 }] }, "interrupted"],
  ])("a subgraph's lifecycle ends with the status of its task: %j", (more, event) => {
    const lifecycle = dataOf([begins, within, ended(more)], ["lifecycle"]);
    expect(lifecycle.at(-1)?.[1]).toMatchObject({ event });
  });

  test("lifecycle starts from the outer graph inwards and completes from the inner outwards", () => {
    const deep: Row = ["custom|a:1|b:2", "x"];
    const rows: Row[] = [deep, ["tasks", { id: "1", name: "a", result: {} }]];
    expect(dataOf(rows, ["lifecycle"]).map(([where, data]) => [where, data.event])).toEqual([
      ["lifecycle a:1", "started"],
      ["lifecycle a:1 b:2", "started"],
      ["lifecycle a:1 b:2", "completed"],
      ["lifecycle a:1", "completed"],
    ]);
  });
});

test("an interrupt is emitted once, whichever rows repeat it", () => {
  const interrupt = { __interrupt__: [{ id: "i", value: "well?" }] };
  const rows: Row[] = [
    ["updates|inner:1", interrupt],
    ["values|inner:1", interrupt],
    ["tasks", { id: "1", name: "inner", result: {}, interrupts: interrupt.__interrupt__ }],
  ];
  const lifecycle = [["input.requested inner:1", { interrupt_id: "i", payload: "well?" }]];
  expect(dataOf(rows, ["input"])).toEqual(lifecycle);
  expect(dataOf([...rows.slice(2), ...rows], ["input"])).toEqual([
    ["input.requested", { interrupt_id: "i", payload: "well?" }],
  ]);
});

test("values are emitted without __interrupt__, and a row with nothing else is dropped", () => {
  const message = { type: "ai", content: "x", additional_kwargs: {}, response_metadata: { a: 1 } };
  const rows: Row[] = [
    ["values", { __interrupt__: [] }],
    ["values", { n: 1, __interrupt__: [], messages: [message] }],
    ["values", { list: [{ additional_kwargs: {} }] }],
  ];
  expect(dataOf(rows, ["values"])).toEqual([
    ["values", { n: 1, messages: [{ type: "ai", content: "x", response_metadata: { a: 1 } }] }],
    ["values", { list: [{ additional_kwargs: {} }] }],
  ]);
});

test("a task's input that refers to the latest values is emitted in full", () => {
  const task = { id: "1", name: "a", interrupts: [] };
  const rows: Row[] = [
    ["values", { n: 1 }],
    ["values|inner:1", { n: 2 }],
    ["tasks", { ...task, input_is: "values" }],
    ["tasks|inner:1", { ...task, input_is: "values" }],
    ["tasks", { ...task, input: { n: 3 } }],
  ];
  const inputs = dataOf(rows, ["tasks"]).map(([, { input, ...rest }]) => [input, rest]);
  expect(inputs).toEqual([{ n: 1 }, { n: 2 }, { n: 3 }].map((input) => [input, task]));
});

test("custom data with a name and a payload is emitted as it is; other data becomes the payload", () => {
  const written = [
    "text",
    { name: "mine", payload: 1, step: 2 },
    { name: "mine", step: 1 },
    { name: 5 },
    [1],
  ];
  const rows = written.map((data): Row => ["custom", data]);
  expect(dataOf(rows, ["custom"]).map(([, data]) => data)).toEqual([
    { payload: "text" },
    { name: "mine", payload: 1, step: 2 },
    { name: "mine", step: 1, payload: { name: "mine", step: 1 } },
    { payload: { name: 5 } },
    { payload: [1] },
  ]);
});

test("tool and checkpoint events of LangGraph are converted to the protocol", () => {
  const tool = { toolCallId: "c", name: "go" };
  const rows: Row[] = [
    ["tools|tools:1", { event: "on_tool_start", input: "{}", ...tool }],
    ["tools|tools:1", { event: "on_tool_event", data: { half: true }, ...tool }],
    ["tools|tools:1", { event: "on_tool_error", error: { message: "lost" }, ...tool }],
    [
      "checkpoints",
      {
        checkpoint: { checkpoint_id: "2" },
        parent_checkpoint: { checkpoint_id: "1" },
        metadata: { step: 0, source: "loop" },
        values: {},
      },
    ],
  ];
  expect(dataOf(rows, ["tools", "checkpoints"])).toEqual([
    ["tools tools:1", { event: "tool-started", tool_call_id: "c", tool_name: "go", input: "{}" }],
    ["tools tools:1", { event: "tool-output-delta", tool_call_id: "c", delta: '{"half":true}' }],
    ["tools tools:1", { event: "tool-error", tool_call_id: "c", message: "lost" }],
    ["checkpoints", { id: "2", parent_id: "1", step: 0, source: "loop" }],
  ]);
});

test("a channel filter does not change the ids of the other events", () => {
  const chunk = { type: "ai", id: "m", content: "x", tool_call_chunks: [] };
  const rows: Row[] = [
    ["metadata", { attempt: 1 }],
    ["values", { n: 1 }],
    ["messages|a:1", [chunk, { langgraph_node: "a" }]],
    ["updates", { a: { n: 2 }, b: { n: 3 } }],
    ["tasks", { id: "1", name: "a", result: {}, interrupts: [{ id: "i", value: 1 }] }],
  ];
  const all = eventsOf(rows);
  expect(new Set(all.map(({ event_id }) => event_id)).size).toBe(all.length);
  for (const name of CHANNELS) {
    const filter = { channels: [name], namespaces: null, depth: null };
    const alone = eventsOf(rows, [...channelsOf([filter])]);
    expect(alone).toEqual(all.filter((event) => isWanted(event, filter)));
  }
});

test("the values of a subgraph are kept until its task has ended", () => {
  const refers = (id: string) => `{"id":"${id}","name":"model","input_is":"values"}`;
  const log = new RunEvents(RUN, new Set(["tasks"]));
  const rows = [
    ["values", '{"of":"root"}'],
    ["values|a:1", '{"of":"a"}'],
    ["values|a:1|b:2", '{"of":"b"}'],
    ["values|a:10", '{"of":"other"}'],
    ["tasks|a:1|b:2", refers("within")],
    ["tasks", '{"id":"1","name":"a","result":{}}'],
    ["tasks|a:1", refers("after")],
    ["tasks|a:1|b:2", refers("within after")],
    ["tasks|a:10", refers("other")],
    ["tasks", refers("root")],
  ];
  const events = rows.flatMap(([event = "", data = ""], n) =>
    log.toProtocolEvents({ id: n + 1, event, data }, EMITTED_AT),
  );
  const inputs = events.map(({ data }) => JSON.parse(data)).map(({ id, input }) => [id, input]);
  expect(inputs).toEqual([
    ["within", { of: "b" }],
    ["1", undefined],
    ["after", null],
    ["within after", null],
    ["other", { of: "other" }],
    ["root", { of: "root" }],
  ]);
});

test("values are kept for runs of the protocol alone: tasks of other runs have their inputs", () => {
  const rows: Row[] = [
    ["values|inner:1", { n: 1 }],
    ["tasks|inner:1", { id: "1", name: "a", input_is: "values" }],
  ];
  const [event] = eventsOf(rows, ["tasks"], { ...RUN, protocol: undefined });
  expect(JSON.parse(event?.data ?? "").input).toBeNull();
});

test("an agent sends the input of a task in full once the task of its graph has ended", () => {
  const sent: string[][] = [];
  const call = {
    stream_modes: ["values", "tasks"] as StreamMode[],
    stream_subgraphs: true,
    resuming: false,
    short_forms: true,
  };
  const writer = new EventWriter(call, (event, data) => sent.push([event, data]), UNTRACKED);
  const input = { of: "a" };
  writer.write(["a:1"], "values", input);
  writer.write(["a:1"], "tasks", { id: "m", name: "model", input });
  writer.write([], "tasks", { id: "1", name: "a", result: {} });
  writer.write(["a:1"], "tasks", { id: "m", name: "model", input });
  expect(sent.filter(([event]) => event === "tasks|a:1").map(([, data]) => data)).toEqual([
    '{"id":"m","name":"model","input_is":"values"}',
    '{"id":"m","name":"model","input":{"of":"a"}}',
  ]);
});

test("a task's input that equals the latest values is sent as a reference to them", () => {
  const sent: string[] = [];
  const call = {
    stream_modes: ["values", "tasks"] as StreamMode[],
    stream_subgraphs: false,
    resuming: false,
    short_forms: true,
  };
  const writer = new EventWriter(
    call,
    (event, data) => event === "tasks" && sent.push(data),
    UNTRACKED,
  );
  const [first, second] = [{ id: "1" }, { id: "2" }];
  writer.write([], "values", { n: 1, list: [first] });
  const inputs = [{ n: 1, list: [first] }, { n: 1, list: [first, second] }, { n: 1 }, "text"];
  for (const input of inputs) writer.write([], "tasks", { id: "t", name: "node", input });
  expect(sent.map((data) => JSON.parse(data))).toEqual([
    { id: "t", name: "node", input_is: "values" },
    ...inputs.slice(1).map((input) => ({ id: "t", name: "node", input })),
  ]);
});
