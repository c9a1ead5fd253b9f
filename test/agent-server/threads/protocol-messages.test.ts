import { describe, expect, test } from "vitest";
import { CHANNELS } from "../../../src/agent-server/threads/events/event.ts";
import { RunEvents } from "../../../src/agent-server/threads/events/run-events.ts";

type Data = Record<string, unknown> & { event: string };

/** Converts a run's log to protocol messages without ids. */
function messagesOf(rows: [event: string, data: unknown][]): Data[] {
  const log = new RunEvents({ run_id: "run", graph_id: "agent" }, new Set(CHANNELS));
  const events = rows.flatMap(([event, data], n) =>
    log.toProtocolEvents({ id: n + 1, event, data: JSON.stringify(data) }, 0),
  );
  return events
    .filter(({ method }) => method === "messages")
    .map(({ data }) => {
      const { run_id: _, ...shown } = JSON.parse(data) as Data;
      return shown;
    });
}

const ROW = "messages|model:1";
const metadata = { langgraph_node: "model" };
const chunk = (fields: object) =>
  [ROW, [{ type: "ai", id: "m", content: "", tool_call_chunks: [], ...fields }, metadata]] as [
    string,
    unknown,
  ];
const end = ["updates", { model: {} }] as [string, unknown];
const start = { event: "message-start", id: "m", role: "ai" };

describe("a message in chunks", () => {
  test("a text, then calls whose arguments come piece by piece", () => {
    const call = (index: number, fields: object) => ({ tool_call_chunks: [{ index, ...fields }] });
    const shown = messagesOf([
      chunk({ content: "Let me " }),
      chunk({ content: "see" }),
      chunk(call(0, { id: "c1", name: "look_up", args: "" })),
      chunk(call(0, { args: '{"city":' })),
      chunk(call(0, { args: '"Rome"}' })),
      chunk(call(1, { id: "c2", name: "wait", args: "" })),
      chunk({ usage_metadata: { total_tokens: 3 }, response_metadata: { finish_reason: "tools" } }),
      end,
    ]);
    const open = { type: "tool_call_chunk", id: "c1", name: "look_up" };
    const delta = (fields: object) => ({ delta: { type: "block-delta", fields } });
    expect(shown).toEqual([
      start,
      { event: "content-block-start", index: 0, content: { type: "text", text: "" } },
      { event: "content-block-delta", index: 0, delta: { type: "text-delta", text: "Let me " } },
      { event: "content-block-delta", index: 0, delta: { type: "text-delta", text: "see" } },
      { event: "content-block-finish", index: 0, content: { type: "text", text: "Let me see" } },
      { event: "content-block-start", index: 1, content: { ...open, args: "" } },
      { event: "content-block-delta", index: 1, ...delta({ ...open, args: "" }) },
      { event: "content-block-delta", index: 1, ...delta({ ...open, args: '{"city":' }) },
      { event: "content-block-delta", index: 1, ...delta({ ...open, args: '{"city":"Rome"}' }) },
      {
        event: "content-block-finish",
        index: 1,
        content: { ...open, type: "tool_call", args: { city: "Rome" } },
      },
      {
        event: "content-block-start",
        index: 2,
        content: { type: "tool_call_chunk", id: "c2", name: "wait", args: "" },
      },
      {
        event: "content-block-delta",
        index: 2,
        ...delta({ type: "tool_call_chunk", id: "c2", name: "wait", args: "" }),
      },
      {
        event: "content-block-finish",
        index: 2,
        content: { type: "tool_call", id: "c2", name: "wait", args: {} },
      },
      {
        event: "message-finish",
        usage: { total_tokens: 3 },
        reason: "tools",
        responseMetadata: { finish_reason: "tools" },
      },
    ]);
  });

  test("blocks of a provider: thinking is reasoning, its signature is kept, calls come once", () => {
    const shown = messagesOf([
      chunk({ content: [{ index: 0, type: "thinking", thinking: "Hm" }] }),
      chunk({ content: [{ index: 0, type: "thinking", signature: "s" }] }),
      chunk({ content: [{ index: 1, type: "text", text: "So" }] }),
      chunk({
        content: [{ index: 2, type: "tool_use", id: "c", name: "go", input: {} }],
        tool_call_chunks: [{ index: 2, id: "c", name: "go", args: "{" }],
      }),
      end,
    ]);
    const finished = shown.filter(({ event }) => event === "content-block-finish");
    expect(finished.map(({ content }) => content)).toEqual([
      { type: "reasoning", reasoning: "Hm", signature: "s" },
      { type: "text", text: "So" },
      { type: "invalid_tool_call", id: "c", name: "go", args: "{", error: expect.any(String) },
    ]);
    expect(shown).toContainEqual({
      event: "content-block-delta",
      index: 0,
      delta: { type: "reasoning-delta", reasoning: "Hm" },
    });
  });

  test("reasoning beside the content comes first", () => {
    const shown = messagesOf([
      chunk({ additional_kwargs: { reasoning_content: "Hm" } }),
      chunk({ content: "So" }),
      end,
    ]);
    const starts = shown.filter(({ event }) => event === "content-block-start");
    expect(starts.map(({ index, content }) => [index, content])).toEqual([
      [0, { type: "reasoning", reasoning: "" }],
      [1, { type: "text", text: "" }],
    ]);
  });

  test.each([
    [
      "that begin",
      [["tasks", { id: "1", name: "model", input: {}, triggers: [], interrupts: [] }]],
    ],
    ["without events of their own", []],
  ] as [string, [string, unknown][]][])(
    "is not cut off by the end of another task: tasks %s",
    (_, tasks) => {
      const of = (task: number, content: string) =>
        [
          `messages|model:${task}`,
          [{ type: "ai", id: `m${task}`, content, tool_call_chunks: [] }, metadata],
        ] as [string, unknown];
      const shown = messagesOf([...tasks, of(1, "A"), of(2, "B"), end, of(2, "C")]);
      const texts = shown.flatMap(({ event, delta }) =>
        event === "content-block-delta" ? [(delta as { text: string }).text] : [],
      );
      expect(texts).toEqual(["A", "B", "C"]);
    },
  );

  test("two concurrent messages are distinguished", () => {
    const log = new RunEvents({ run_id: "run", graph_id: "agent" }, new Set(CHANNELS));
    const chunkOf = (id: number, message: string, content: string) =>
      log.toProtocolEvents(
        { id, event: ROW, data: JSON.stringify((chunk({ id: message, content }) as unknown[])[1]) },
        0,
      );
    const events = [
      ...chunkOf(1, "run-a", "x"),
      ...chunkOf(2, "run-b", "y"),
      ...chunkOf(3, "run-a", "z"),
    ];
    const shown = events.flatMap(({ method, data }) => (method === "messages" ? [data] : []));
    const parsed = shown.map((text) => JSON.parse(text));
    expect(parsed.map(({ run_id, event }) => [run_id, event])).toEqual([
      ...["message-start", "content-block-start", "content-block-delta"].map((e) => ["a", e]),
      ...["message-start", "content-block-start", "content-block-delta"].map((e) => ["b", e]),
      ["a", "content-block-delta"],
    ]);
  });

  test("a node that calls its model again begins another, and ends the first", () => {
    const shown = messagesOf([
      chunk({ id: "one", content: "1" }),
      chunk({ id: "one", response_metadata: { finish_reason: "stop" } }),
      chunk({ id: "two", content: "2" }),
      end,
    ]);
    const short = shown.map(({ event, id, reason }) => [event, id ?? reason].filter(Boolean));
    expect(short).toEqual([
      ["message-start", "one"],
      ...[["content-block-start"], ["content-block-delta"], ["content-block-finish"]],
      ["message-finish", "stop"],
      ["message-start", "two"],
      ...[["content-block-start"], ["content-block-delta"], ["content-block-finish"]],
      ["message-finish"],
    ]);
  });

  test("another attempt of the run gives up what the one before was saying", () => {
    const shown = messagesOf([
      ["metadata", { attempt: 1 }],
      chunk({ content: "On" }),
      ["metadata", { attempt: 2 }],
      chunk({ id: "again", content: "One" }),
      end,
    ]);
    expect(shown.map(({ event }) => event)).toEqual([
      ...["message-start", "content-block-start", "content-block-delta", "error"],
      ...["message-start", "content-block-start", "content-block-delta"],
      ...["content-block-finish", "message-finish"],
    ]);
  });
});

describe("a whole message", () => {
  const whole = (fields: object) =>
    [
      ROW,
      [
        { id: "m", content: "", ...fields },
        { ...metadata, name: "model" },
      ],
    ] as [string, unknown];

  test("is emitted from start to finish at once, and once", () => {
    const calls = [{ type: "tool_call", id: "c", name: "go", args: { far: true } }];
    const message = whole({ type: "ai", content: "I go", tool_calls: calls });
    const shown = messagesOf([message, message]);
    expect(shown.map(({ event }) => event)).toEqual([
      "message-start",
      ...["content-block-start", "content-block-delta", "content-block-finish"],
      ...["content-block-start", "content-block-finish"],
      "message-finish",
    ]);
    expect(shown.at(-2)?.content).toEqual(calls[0]);
  });

  test("of a tool has its tool call id", () => {
    const [first] = messagesOf([
      whole({ type: "tool", name: "go", content: "gone", tool_call_id: "c" }),
    ]);
    expect(first).toEqual({ ...start, role: "tool", tool_call_id: "c", name: "go" });
  });
});

test("a run that streams the text so far is emitted in deltas too", () => {
  const aiMessage = (content: string) => ({ type: "ai", id: "m", content });
  const shown = messagesOf([
    ["messages/metadata", { m: { metadata } }],
    ["messages/partial", [aiMessage("On")]],
    ["messages/partial", [aiMessage("One two")]],
    ["messages/complete", [aiMessage("One two"), { type: "tool", id: "t", content: "done" }]],
  ]);
  const deltas = shown.flatMap(({ delta }) => (delta as { text?: string } | undefined)?.text ?? []);
  expect(deltas).toEqual(["On", "e two", "done"]);
  expect(shown.filter(({ event }) => event === "message-finish")).toHaveLength(2);
});

describe("a message of the mode `messages`, whose rows have all of it so far", () => {
  const partial = (fields: object) =>
    ["messages/partial", [{ type: "ai", id: "m", content: "", ...fields }]] as [string, unknown];
  const complete = (fields: object) =>
    ["messages/complete", [{ type: "ai", id: "m", content: "", ...fields }]] as [string, unknown];
  const finished = (rows: [string, unknown][]) =>
    messagesOf(rows)
      .filter(({ event }) => event === "content-block-finish")
      .map(({ content }) => content);

  test("has the arguments of its call once", () => {
    const call = (args: string) => ({
      tool_call_chunks: [{ index: 0, id: "c", name: "go", args }],
    });
    const rows = [partial(call('{"a":')), partial(call('{"a":1}')), complete({})];
    expect(finished(rows)).toEqual([{ type: "tool_call", id: "c", name: "go", args: { a: 1 } }]);
  });

  test("has its reasoning once", () => {
    const thought = (reasoning_content: string) => ({ additional_kwargs: { reasoning_content } });
    const rows = [partial(thought("Hm")), partial(thought("Hmm, yes")), complete({})];
    expect(finished(rows)).toEqual([{ type: "reasoning", reasoning: "Hmm, yes" }]);
  });
});
