import {
  AIMessage,
  AIMessageChunk,
  ChatMessage,
  FunctionMessage,
  HumanMessage,
  RemoveMessage,
  SystemMessage,
  ToolMessage,
} from "@langchain/core/messages";
import { PromptTemplate } from "@langchain/core/prompts";
import { Send } from "@langchain/langgraph";
import { DeltaSnapshot, MemorySaver } from "@langchain/langgraph-checkpoint";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { parseCheckpointJson } from "../../../src/isolate/checkpoints/revive.ts";
import { MAX_STATE_DEPTH, toCheckpointJson } from "../../../src/isolate/checkpoints/serializer.ts";
import { toWire } from "../../../src/isolate/wire.ts";
import { envelopes, isData, jsonWithEnvelopes, nest } from "../../support/envelopes.ts";

const { serde } = new MemorySaver();

const call = { name: "add", args: { first_number: 1 }, id: "c1" };
const usage_metadata = { input_tokens: 1, output_tokens: 2, total_tokens: 3 };
const same: [string, unknown][] = [
  ["plain data", { a: [1, null, "x", { b: true }] }],
  ["messages", [new HumanMessage({ content: "hi", id: "1" }), new AIMessage("hello")]],
  [
    "a call of a tool",
    Object.assign(new AIMessage({ content: "", tool_calls: [call] }), { usage_metadata }),
  ],
  [
    "a tool's answer",
    new ToolMessage({ content: "2", tool_call_id: "c1", name: "add", artifact: { rows: [1] } }),
  ],
  ["messages within data", { deep: { list: [new HumanMessage("x")] } }],
];

const kinds: [string, unknown][] = [
  ...same,
  ["other messages", [new SystemMessage("x"), new ChatMessage("x", "critic")]],
  ["a function's result", new FunctionMessage({ name: "f", content: "1" })],
  ["a chunk", new AIMessageChunk({ content: "x", id: "1" })],
  ["a removal", [new RemoveMessage({ id: "1" })]],
  ["a set and a map", { set: new Set([1, "x"]), map: new Map([["a", { b: 1 }]]) }],
  ["a regular expression", /a+/giu],
  ["an error within data", { error: new RangeError("x") }],
  ["undefined", { a: undefined, list: [undefined, 1] }],
  ["bytes", { bytes: new Uint8Array([0, 255]) }],
  ["a date", { at: new Date(0) }],
  ["a Send", [new Send("node", { messages: [new HumanMessage("x")] })]],
  ["a snapshot of a delta channel", new DeltaSnapshot([new HumanMessage("x")])],
  ["instances within each other", new Map([["k", new Set([new HumanMessage("x")])]])],
];

describe("stored values", () => {
  test.each(kinds)("LangGraph's JSON is read as LangGraph reads it: %s", async (_what, value) => {
    const [type, data] = await serde.dumpsTyped(value);
    const theirs = await serde.loadsTyped(type, data);
    const ours = parseCheckpointJson(new TextDecoder().decode(data));
    expect(ours).toEqual(theirs);
    expect(JSON.stringify(ours)).toBe(JSON.stringify(theirs));
  });

  test.each(kinds)("the serializer's own JSON is read as LangGraph's: %s", async (_what, value) => {
    const [type, data] = await serde.dumpsTyped(value);
    const ours = parseCheckpointJson(toCheckpointJson(value));
    expect(ours).toEqual(await serde.loadsTyped(type, data));
    expect(toCheckpointJson(ours)).toBe(toCheckpointJson(value));
  });

  test("a cycle is cut, and a value that repeats is not one", () => {
    const shared = { a: 1 };
    const value: Record<string, unknown> = { first: shared, second: shared };
    value.self = value;
    const read = { first: shared, second: shared, self: "[Circular]" };
    expect(parseCheckpointJson(toCheckpointJson(value))).toEqual(read);
  });

  test("a message class of an agent is read as the LangChain class it extends", () => {
    class Note extends HumanMessage {}
    const read = parseCheckpointJson(toCheckpointJson([new Note("x")]));
    expect(read).toEqual([new HumanMessage("x")]);
  });

  test("a serialized object that is not a message becomes data", () => {
    const template = PromptTemplate.fromTemplate("{a}");
    const read = parseCheckpointJson(toCheckpointJson({ template }));
    expect(read).toEqual({ template: JSON.parse(JSON.stringify(template)) });
    expect(parseCheckpointJson(toCheckpointJson(read))).toEqual(read);
  });
});

/** Compares JSON, and that no instance hides behind equal JSON. */
function expectData(value: unknown, sent: unknown) {
  expect(JSON.stringify(value)).toBe(JSON.stringify(sent));
  expect(isData(value)).toBe(true);
}

describe("data that looks like a serialized instance", () => {
  test.each(Object.entries(envelopes))("stays data when it is written: %s", (_name, envelope) => {
    for (const value of [envelope, [envelope], { deep: [{ envelope }] }]) {
      expectData(parseCheckpointJson(toCheckpointJson(value)), value);
      const message = new HumanMessage({ content: "x", additional_kwargs: { value } });
      const read = parseCheckpointJson(toCheckpointJson([message])) as HumanMessage[];
      expect(read[0]).toBeInstanceOf(HumanMessage);
      expectData(read[0]?.additional_kwargs, { value });
      expectData(JSON.parse(toWire(read))[0].additional_kwargs, { value });
      expectData(JSON.parse(toWire([message]))[0].additional_kwargs, { value });
    }
  });

  test("stays data in checkpoints that LangGraph's serializer wrote, unless it is a message", () => {
    const { human: _human, escaped: _escaped, ...others } = envelopes;
    for (const envelope of Object.values(others)) {
      expectData(parseCheckpointJson(JSON.stringify({ envelope })), { envelope });
    }
  });

  test("random JSON is read as it was written (seeded)", () => {
    const property = fc.property(jsonWithEnvelopes(), (value) => {
      expectData(parseCheckpointJson(toCheckpointJson(value)), value);
      const message = new AIMessage({ content: "x", additional_kwargs: { value } as never });
      const once = parseCheckpointJson(toCheckpointJson({ message })) as { message: AIMessage };
      const twice = parseCheckpointJson(toCheckpointJson(once)) as { message: AIMessage };
      expectData(twice.message.additional_kwargs, { value });
      expectData(JSON.parse(toWire(twice)).message.additional_kwargs, { value });
    });
    fc.assert(property, { seed: 20_251_122, numRuns: 3000 });
  });

  test("a key that names the prototype is data", () => {
    const text = '{"__proto__":{"polluted":true},"constructor":{"prototype":{"polluted":true}}}';
    const value = parseCheckpointJson(text);
    expect(Reflect.get(value as object, "polluted")).toBeUndefined();
    expect(toCheckpointJson(value)).toBe(text);
    expect(toWire(value)).toBe(text);
    expect(Reflect.get({}, "polluted")).toBeUndefined();
  });
});

describe("messages with odd fields", () => {
  const odd: [string, Record<string, unknown>][] = [
    ["response_metadata is text", { response_metadata: "output_version" }],
    ["tool_calls is no list", { tool_calls: 1, response_metadata: { output_version: "v1" } }],
    ["a block is null", { content: [null], response_metadata: { output_version: "v1" } }],
    ["additional_kwargs is a list", { additional_kwargs: ["tool_calls"] }],
    [
      "names of methods",
      { toDict: 1, toJSON: 2, _getType: 3, lc_id: 4, concat: 5, constructor: 6 },
    ],
    ["names of getters", { text: 1, contentBlocks: 2, lc_aliases: 3, lc_secrets: { a: "B" } }],
    ["names of LangChain's fields", { lc_kwargs: 1, lc_namespace: "x", lc_serializable: false }],
    ["chunks of calls that are none", { tool_call_chunks: [null] }],
    ["no content", { content: 7 }],
  ];
  const names = ["HumanMessage", "AIMessage", "AIMessageChunk", "ToolMessage", "RemoveMessage"];

  test.each(odd)("are read and written again: %s", (_what, fields) => {
    for (const name of names) {
      const kwargs = { content: "x", id: "1", ...fields };
      const id = ["langchain_core", "messages", name];
      const text = JSON.stringify([{ lc: 1, type: "constructor", id, kwargs }]);
      const read = parseCheckpointJson(text);
      const again = parseCheckpointJson(toCheckpointJson(read));
      expect(JSON.parse(toWire(again))).toEqual(JSON.parse(toWire(read)));
      expect(JSON.parse(toWire(again))).toMatchObject([{ id: "1" }]);
    }
  });

  test.each([[null], [[]], ["x"], [undefined]])("are data when the fields are %o", (kwargs) => {
    const id = ["langchain_core", "messages", "HumanMessage"];
    const record = JSON.parse(JSON.stringify({ lc: 1, type: "constructor", id, kwargs }));
    expect(parseCheckpointJson(JSON.stringify(record))).toStrictEqual(record);
  });
});

describe("depth", () => {
  test("the deepest value that is written is read", () => {
    const value = nest(MAX_STATE_DEPTH - 5, { envelope: envelopes.human });
    expectData(parseCheckpointJson(toCheckpointJson(value)), value);
  });

  test("a deeper value is an error with the limit", () => {
    expect(() => toCheckpointJson(nest(MAX_STATE_DEPTH + 1, 1))).toThrow("nested deeper than 1000");
  });

  test("deeper JSON that is stored already is read", () => {
    const text = `${"[".repeat(5000)}${"]".repeat(5000)}`;
    expect(JSON.stringify(parseCheckpointJson(text)).length).toBe(text.length);
  });
});

describe("texts of messages", () => {
  const reread = async (value: unknown) => {
    const [, data] = await serde.dumpsTyped(value);
    return parseCheckpointJson(new TextDecoder().decode(data)) as never[];
  };

  test.each(same)(
    "what was read and is written for clients is what was: %s",
    async (_what, value) => {
      expect(toWire(await reread(value))).toBe(toWire(value));
    },
  );

  const changes: [string, (message: AIMessage) => void][] = [
    [
      "its content",
      (message) => {
        message.content = "other";
      },
    ],
    [
      "a block of it",
      (message) => {
        (message.content as { text: string }[])[0] = { text: "other" };
      },
    ],
    [
      "an argument of a call",
      (message) => {
        Object.assign(message.tool_calls?.[0]?.args ?? {}, { first_number: 2 });
      },
    ],
    [
      "what its model added",
      (message) => {
        message.additional_kwargs.seen = true;
      },
    ],
    [
      "its id, beside its fields",
      (message) => {
        message.lc_kwargs.id = message.id = "2";
      },
    ],
  ];
  test.each(changes)("a message is written anew when a node changes %s", async (_what, change) => {
    const [message] = await reread([
      new AIMessage({ id: "1", content: [{ type: "text", text: "hi" }], tool_calls: [call] }),
    ]);
    const before = toWire([message]);
    change(message as never);
    const now = toWire([message]);
    expect(now).not.toBe(before);
    expect(JSON.parse(now)).toEqual([
      JSON.parse(JSON.stringify({ ...(message as never as AIMessage).toDict().data, type: "ai" })),
    ]);
  });

  test("what cannot be compared is written each time", () => {
    class Seen {
      count = 1;
    }
    const seen = new Seen();
    const message = new AIMessage({ content: "hi", additional_kwargs: { seen } as never });
    toWire(message);
    seen.count = 2;
    expect(JSON.parse(toWire(message)).additional_kwargs.seen).toEqual({ count: 2 });
  });

  test("nothing is seen of what is remembered, and a message that is frozen is written all the same", async () => {
    const content = "hi";
    const [changed, frozen] = [
      new AIMessage({ id: "1", content }),
      new AIMessage({ id: "1", content }),
    ];
    const shapeOf = (message: object) => [Reflect.ownKeys(message), JSON.stringify(message)];
    const before = shapeOf(changed);
    const text = toWire(changed);
    expect(shapeOf(changed)).toEqual(before);
    Object.freeze(frozen);
    expect([toWire(frozen), toWire(frozen)]).toEqual([text, text]);
    const copy = Object.assign(Object.create(Object.getPrototypeOf(changed)), changed, {
      content: "ho",
    });
    expect(JSON.parse(toWire(copy))).toEqual({ ...JSON.parse(text), content: "ho" });
  });
});
